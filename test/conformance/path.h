/**
 * @file path.h
 * @brief Paths through the library that a run can be forced onto, and the proof that it was.
 */
#ifndef HK_CONFORMANCE_PATH_H
#define HK_CONFORMANCE_PATH_H

#include <stdbool.h>

#include <hocket/comm.h>

#include "grid.h"

/** Exit status of a run that this machine cannot do. */
enum { PATH_SKIPPED = 77 };

typedef struct path path_t;

/** The path of this name, or NULL. */
const path_t *path_find(const char *name);

/** Names of all paths, with bars between them. */
const char *path_names(void);

/** Set the variables that force it, before the library is used, and the grid's memory.
 *  @return 0, or PATH_SKIPPED: this machine has no such thing, and that was said */
int path_force(const path_t *path, grid_t *grid);

/** Have the operations of this rank gone that way, and no other? Says so if not. */
bool path_was_taken(const path_t *path, hk_comm_t *comm);

#endif /* HK_CONFORMANCE_PATH_H */
