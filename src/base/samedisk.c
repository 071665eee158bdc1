/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/samedisk.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define DIGITS_MIN 4 /* of a number without letters, zeros before it left out */

const char *disk_name_text(enum disk_name which)
{
	static const char *const texts[] = {
		[NAME_NONE] = "name",
		[NAME_SERIAL] = "serial number",
		[NAME_WWN] = "world-wide name",
		[NAME_UUID] = "UUID",
		[NAME_BRIDGE] = "serial number of the bridge",
		[NAME_PLACE] = "host and path",
		[NAME_NAMESPACE] = "namespace",
		[NAME_MODEL] = "model",
		[NAME_SIZE] = "size",
	};

	return texts[which];
}

/* ---- does a name say anything ---- */

/* Letters and digits alone, small; 0: too long to be what everybody shows. */
static size_t plain(char *buf, size_t len, const char *name)
{
	size_t n = 0;

	for (; *name; name++) {
		if (!isalnum((unsigned char)*name))
			continue;
		if (n + 1 == len)
			return 0;
		buf[n++] = (char)tolower((unsigned char)*name);
	}
	buf[n] = '\0';
	return n;
}

/* 0123456789, 9876543210, 123456789012, 89abcdef0123, abcdef: each is the next to the one before. */
static bool is_count(const char *text, size_t n)
{
	static const char *const circles[] = { "0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz" };

	for (size_t c = 0; c < ARRAY_LEN(circles); c++) {
		size_t round = strlen(circles[c]), up = 0, down = 0;

		for (size_t i = 1; i < n; i++) {
			const char *before = strchr(circles[c], text[i - 1]), *now = strchr(circles[c], text[i]);

			if (!before || !now)
				break;
			up += (size_t)(now - before + (ptrdiff_t)round) % round == 1;
			down += (size_t)(before - now + (ptrdiff_t)round) % round == 1;
		}
		if (n > 2 && (up == n - 1 || down == n - 1))
			return true;
	}
	return false;
}

/* 00000000, 12341234: the same again and again. */
static bool is_repeated(const char *text, size_t n)
{
	for (size_t period = 1; period <= n / 2; period++)
		if (n % period == 0 && memcmp(text, text + period, n - period) == 0)
			return true;
	return false;
}

static bool is_word(const char *text)
{
	static const char *const words[] = {
		"none",         "na",           "nil",           "null",
		"unknown",      "default",      "defaultstring", "tobefilledbyoem",
		"notspecified", "notavailable", "notapplicable", "notset",
		"empty",        "invalid",      "generic",       "serial",
		"serialnumber", "serialno",     "noserial",      "systemserialnumber",
		"oem",          "disk",         "usb",           "nodata",
		"undefined",    "sample",       "test",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool is_model(const char *text, const struct disk_names *of)
{
	char model[160], vendor[64];
	size_t n = of && of->model ? plain(model, sizeof(model), of->model) : 0,
	       m = of && of->vendor ? plain(vendor, sizeof(vendor), of->vendor) : 0;

	return (n && strcmp(text, model) == 0) || (m && strcmp(text, vendor) == 0) ||
	       (n && m && strncmp(text, vendor, m) == 0 && strcmp(text + m, model) == 0);
}

bool name_identifies(const char *name, const struct disk_names *of)
{
	static const struct {
		const char *begin;
		size_t skip;     /* what stands before the number; of NAA the kind is not part of it */
		bool has_serial; /* made of vendor, model and serial number */
	} kinds[] = { { "naa.", 5, false }, { "eui.", 4, false }, { "uuid.", 5, false },
		      { "t10.", 4, true },  { "nvme.", 5, true }, { "0x", 3, false } };
	char text[512];
	size_t n;

	if (!name)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) == 0 && strlen(name) >= kinds[i].skip) {
			if (kinds[i].has_serial && of && of->serial && of->serial[0] && of->serial != name &&
			    !name_identifies(of->serial, of))
				return false;
			name += kinds[i].skip;
			break;
		}
	n = plain(text, sizeof(text), name);
	if (n == 0)
		return strlen(name) >= sizeof(text);
	if (n == strspn(text, "0123456789") && n - strspn(text, "0") < DIGITS_MIN)
		return false;
	return !is_count(text, n) && !is_repeated(text, n) && !is_word(text) && !is_model(text, of);
}

/* ---- comparison ---- */

static bool is_shown(const char *text)
{
	return text && text[0];
}

static bool is_equal(const char *a, const char *b)
{
	return is_shown(a) && is_shown(b) && strcmp(a, b) == 0;
}

static bool is_unequal(const char *a, const char *b)
{
	return is_shown(a) && is_shown(b) && strcmp(a, b) != 0;
}

/* "n2" of nvme0n2: namespaces of one drive share its serial number. The first number may change with every start. */
static const char *space_of(const struct disk_names *d)
{
	return d->kernel && strncmp(d->kernel, "nvme", 4) == 0 ? strchr(d->kernel + 4, 'n') : NULL;
}

static bool has_serial(const struct disk_names *d)
{
	return name_identifies(d->serial, d);
}

static bool has_wwn(const struct disk_names *d)
{
	return name_identifies(d->wwn, d);
}

/* Of one kind ("naa.", "eui." of 16 digits or of 32): a kernel may have shown another one. */
static bool is_wwn_unequal(const struct disk_names *a, const struct disk_names *b)
{
	return has_wwn(a) && has_wwn(b) && strlen(a->wwn) == strlen(b->wwn) &&
	       strcspn(a->wwn, ".") == strcspn(b->wwn, ".") && strncmp(a->wwn, b->wwn, strcspn(a->wwn, ".")) == 0 &&
	       strcmp(a->wwn, b->wwn) != 0;
}

/* What cannot change and does differ; NAME_NONE: nothing. */
static enum disk_name difference(const struct disk_names *a, const struct disk_names *b)
{
	const char *x = space_of(a), *y = space_of(b);

	if (a->size_bytes && b->size_bytes && a->size_bytes != b->size_bytes)
		return NAME_SIZE;
	if (is_unequal(x, y))
		return NAME_NAMESPACE;
	if (is_unequal(a->uuid, b->uuid))
		return NAME_UUID;
	if (has_serial(a) && has_serial(b) && !a->serial_is_bridges && !b->serial_is_bridges &&
	    strcmp(a->serial, b->serial) != 0)
		return NAME_SERIAL;
	return is_wwn_unequal(a, b) ? NAME_WWN : NAME_NONE;
}

/* One has a lasting name that the other does not show. */
static bool is_alone(const struct disk_names *a, const struct disk_names *b)
{
	return (has_serial(a) && !a->serial_is_shared && !is_equal(a->serial, b->serial)) ||
	       (has_wwn(a) && !a->wwn_is_shared && !is_equal(a->wwn, b->wwn)) ||
	       (is_shown(a->uuid) && !is_shown(b->uuid));
}

static bool is_same_host(const struct disk_names *a, const struct disk_names *b)
{
	return is_equal(a->host, b->host) || (!is_shown(a->host) && !is_shown(b->host));
}

/* Where no lasting name is equal: what is left. */
static enum same_disk by_place(const struct disk_names *a, const struct disk_names *b, enum disk_name *by)
{
	*by = NAME_NONE;
	if (is_alone(a, b) || is_alone(b, a))
		return DISK_UNKNOWN;
	if (is_unequal(a->model, b->model)) {
		*by = NAME_MODEL;
		return DISK_OTHER;
	}
	if (!is_same_host(a, b) || !is_equal(a->place, b->place) || is_unequal(a->serial, b->serial))
		return DISK_UNKNOWN;
	*by = NAME_PLACE;
	return DISK_SAME;
}

enum same_disk same_disk(const struct disk_names *a, const struct disk_names *b, enum disk_name *ret_by)
{
	enum disk_name unused, *by = ret_by ? ret_by : &unused;
	bool is_mixed = a->serial_is_bridges != b->serial_is_bridges, /* one number is the disk's, one the bridge's */
		is_serial = has_serial(a) && has_serial(b) && !a->serial_is_shared && !b->serial_is_shared &&
	                    !is_mixed && strcmp(a->serial, b->serial) == 0,
	     is_wwn = has_wwn(a) && has_wwn(b) && !a->wwn_is_shared && !b->wwn_is_shared && strcmp(a->wwn, b->wwn) == 0;

	*by = difference(a, b);
	if (*by != NAME_NONE)
		return DISK_OTHER;
	if (is_equal(a->uuid, b->uuid) && (strncmp(a->uuid, "file-", 5) != 0 || is_same_host(a, b))) {
		*by = NAME_UUID;
		return DISK_SAME;
	}
	if (!is_serial && !is_wwn)
		return by_place(a, b, by);
	*by = !is_serial ? NAME_WWN : a->serial_is_bridges ? NAME_BRIDGE : NAME_SERIAL;
	if (is_wwn && is_serial)
		return DISK_SAME;
	/* One equal name is not enough against what differs beside it: a bridge may give all of its bays one. */
	if (!is_serial && !is_mixed && is_unequal(a->serial, b->serial)) {
		*by = a->serial_is_bridges ? NAME_BRIDGE : NAME_SERIAL;
		return DISK_UNKNOWN;
	}
	return is_unequal(a->model, b->model) ? DISK_UNKNOWN : DISK_SAME;
}

const char *disk_lasting_name(const struct disk_names *d, enum disk_name *ret_which)
{
	const struct {
		enum disk_name which;
		const char *name;
		bool stands;
	} names[] = {
		{ NAME_SERIAL, d->serial, has_serial(d) && !d->serial_is_shared && !d->serial_is_bridges },
		{ NAME_WWN, d->wwn, has_wwn(d) && !d->wwn_is_shared },
		{ NAME_UUID, d->uuid, is_shown(d->uuid) && strncmp(d->uuid, "file-", 5) != 0 },
		{ NAME_BRIDGE, d->serial, has_serial(d) && !d->serial_is_shared },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].stands) {
			*ret_which = names[i].which;
			return names[i].name;
		}
	*ret_which = NAME_NONE;
	return NULL;
}
