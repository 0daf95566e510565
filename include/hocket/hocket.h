/**
 * @file hocket/hocket.h
 * @brief Everything public, in one include.
 */
#ifndef HK_HOCKET_H
#define HK_HOCKET_H

#include <hocket/base.h>
#include <hocket/coll.h>
#include <hocket/comm.h>
#include <hocket/memory.h>
#include <hocket/mesh.h>
#include <hocket/schedule.h>
#include <hocket/types.h>

#endif /* HK_HOCKET_H */
