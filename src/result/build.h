/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that put documents together. Not a door: nobody else includes it. */
#pragma once

#include "base/xalloc.h"
#include "result/result.h"

/* ---- cells.c: a cell takes a copy of a text ---- */

struct cell cell_of_f64(double value);
struct cell cell_of_u64(uint64_t value);
struct cell cell_of_str(const char *text);
struct cell cell_of_member(const void *row_struct, enum field_type type, size_t offset);
double cell_number(enum field_type type, const struct cell *cell);
void cell_done(enum field_type type, struct cell *cell);
void columns_done(struct column *columns, size_t n);
size_t fields_count(const struct field *fields);
struct column *columns_new(const struct field *fields, size_t n);
/* A rate of transfer that is not known to a power of ten: it is not reported. */
bool interval_is_vague(enum unit unit, double value, const struct interval *ci);
/* What can be reported of it; NaN: nothing. */
struct interval interval_defended(enum unit unit, double value, const struct interval *ci, uint64_t samples);

/* Sets or replaces a figure; takes over the text of f.value, copies name and label. */
void build_figure(struct result *res, const char *name, const char *label, struct figure f);

/*
 * Members of an object of the document that are members of a struct, too; the name is NULL behind the last. TEXT_IF is
 * not saved where there is none.
 */
enum member_type { MEMBER_TEXT, MEMBER_TEXT_IF, MEMBER_U64, MEMBER_I64, MEMBER_F64 };
struct member {
	const char *name;
	enum member_type type;
	size_t offset;
};
extern const struct member head_members[], host_members[], fault_members[], notice_members[], plot_members[],
	screen_members[];
static inline void *member_of(const struct member *m, const void *object)
{
	return (char *)(uintptr_t)object + m->offset;
}
/* Frees their texts. */
void members_done(const struct member *m, void *object);
