/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLATTER_TEST_SEEDS_H
#define PLATTER_TEST_SEEDS_H

/* Sanitizers are slow and look for other things: a fifth of the seeds will do there. */
#if defined(__SANITIZE_ADDRESS__)
#define TALLY_SHARE 5
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALLY_SHARE 5
#endif
#endif
#ifndef TALLY_SHARE
#define TALLY_SHARE 1
#endif
#define TALLY_SEEDS(n) ((n) / TALLY_SHARE)
/* Of a list of drives those that are to be run: the first ones there. */
#define TALLY_DRIVES(n) (TALLY_SHARE > 1 && (n) > 2 ? 2 : (n))
/* The first `few` of a list of n there: whole runs of the same code on other disks are for the other build. */
#define TALLY_FIRST(n, few) (TALLY_SHARE > 1 && (size_t)(few) < (n) ? (size_t)(few) : (n))
/* Whole runs on large disks, all of whose code smaller ones run as well, are not made there. */
#define TALLY_LARGE (TALLY_SHARE == 1)

#endif
