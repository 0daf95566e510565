/**
 * @file cgroup.h
 * @brief The numbers of this process's control groups. Private to topo.
 */
#ifndef HKI_TOPO_CGROUP_H
#define HKI_TOPO_CGROUP_H

/**
 * Call `visit` for this process's group of `controller` and for each group above it, as limits of
 * all of them count. `directory` has no slash at its end. Version 2 and version 1 are looked at.
 */
void hki_cgroup_visit(const char *root, const char *controller,
                      void (*visit)(const char *directory, void *cookie), void *cookie);

#endif /* HKI_TOPO_CGROUP_H */
