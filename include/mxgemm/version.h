/* SPDX-License-Identifier: Apache-2.0 */
/* The only place where the version of mxgemm is written; CMake and the wheel read it from here. */
#ifndef MXGEMM_VERSION_H
#define MXGEMM_VERSION_H

#define MXGEMM_VERSION_MAJOR 0
#define MXGEMM_VERSION_MINOR 1
#define MXGEMM_VERSION_PATCH 0
#define MXGEMM_VERSION_STRING "0.1.0"

#endif
