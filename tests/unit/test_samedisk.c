/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "base/samedisk.h"

#include "cases.h"

struct typed {
	const char *serial, *wwn, *model, *uuid, *kernel, *host, *place;
	uint64_t size_bytes, serial_is_shared, serial_is_bridges;
};

static const struct field typed_fields[] = {
	FIELD_STR(struct typed, serial, ""),
	FIELD_STR(struct typed, wwn, ""),
	FIELD_STR(struct typed, model, ""),
	FIELD_STR(struct typed, uuid, ""),
	FIELD_STR(struct typed, kernel, ""),
	FIELD_STR(struct typed, host, ""),
	FIELD_STR(struct typed, place, ""),
	FIELD_U64(struct typed, size_bytes, UNIT_BYTES, ""),
	FIELD_U64(struct typed, serial_is_shared, UNIT_NONE, ""),
	FIELD_U64(struct typed, serial_is_bridges, UNIT_NONE, ""),
	FIELD_END,
};

static struct disk_names names_of(char *text)
{
	struct typed t = { 0 };

	if (strcmp(text, "nothing") != 0)
		cases_fill(text, typed_fields, &t);
	return (struct disk_names){ .serial = t.serial,
		                    .wwn = t.wwn,
		                    .model = t.model,
		                    .uuid = t.uuid,
		                    .kernel = t.kernel,
		                    .host = t.host,
		                    .place = t.place,
		                    .size_bytes = t.size_bytes,
		                    .serial_is_shared = t.serial_is_shared,
		                    .serial_is_bridges = t.serial_is_bridges };
}

TEST(two_disks_are_one_where_a_lasting_name_says_so)
{
	static const char *const answers[] = { [DISK_SAME] = "yes", [DISK_OTHER] = "no", [DISK_UNKNOWN] = "unknown" };
	static const char *const bys[] = {
		[NAME_NONE] = "NONE",   [NAME_SERIAL] = "SERIAL", [NAME_WWN] = "WWN",
		[NAME_UUID] = "UUID",   [NAME_BRIDGE] = "BRIDGE", [NAME_NAMESPACE] = "NAMESPACE",
		[NAME_MODEL] = "MODEL", [NAME_SIZE] = "SIZE",     [NAME_PLACE] = "PLACE"
	};
	struct cases c = cases_open(TEST_DATA "/cases/samedisk");

	while (cases_next(&c)) {
		struct disk_names a = names_of(cases_field(&c)), b = names_of(cases_field(&c));
		const char *answer = cases_field(&c), *by = cases_field(&c);
		enum disk_name way, back;
		enum same_disk one = same_disk(&a, &b, &way), two = same_disk(&b, &a, &back);

		if (strcmp(answers[one], answer) != 0 || strcmp(bys[way], by) != 0 || two != one || back != way)
			fail_msg("case %zu (%s): %s by %s, and the other way %s by %s; %s by %s is right", c.n, c.title,
			         answers[one], bys[way], answers[two], bys[back], answer, by);
	}
	assert_true(c.n > 35);
}

TEST(what_everybody_shows_identifies_nothing)
{
	struct cases c = cases_open(TEST_DATA "/cases/names");
	const struct disk_names of = { .model = "ST4000DM004-2CV104", .vendor = "Seagate" };
	const struct disk_names made_of_zeros = { .serial = "000000000000" };

	while (cases_next(&c))
		if (name_identifies(c.line, &of) != (strcmp(c.title, "something") == 0))
			fail_msg("\"%s\" does not identify %s", c.line, c.title);
	assert_false(name_identifies(NULL, NULL));
	assert_false(name_identifies("t10.USB     DISK            000000000000", &made_of_zeros));
	assert_true(name_identifies("t10.ATA     ST4000          ZFN0A1B2", NULL));
}

static const char *draw(struct rng *g, const char *const *v, size_t n)
{
	return v[rng_below(g, n)];
}

static struct disk_names draw_names(struct rng *g)
{
	static const char *const serials[] = { NULL, "", "WD-1234A", "WD-1234B", "0123456789ABCDEF", "00000000", "X1" };
	static const char *const wwns[] = {
		NULL, "", "naa.50014ee20a1b2c3d", "naa.50014ee20a1b2c3e", "eui.6479a72be0000000", "eui.0000000000000000"
	};
	static const char *const models[] = { NULL, "", "X1", "Y2" };
	static const char *const uuids[] = { NULL, NULL, NULL, "LVM-a", "LVM-b", "file-1-a" };
	static const char *const kernels[] = { NULL, "sda", "sdb", "nvme0n1", "nvme1n1", "nvme0n2" };
	static const char *const hosts[] = { NULL, "h1", "h2" };
	static const char *const places[] = { NULL, "/dev/sda", "/dev/sdb" };

	return (struct disk_names){ .serial = draw(g, serials, ARRAY_LEN(serials)),
		                    .wwn = draw(g, wwns, ARRAY_LEN(wwns)),
		                    .model = draw(g, models, ARRAY_LEN(models)),
		                    .uuid = draw(g, uuids, ARRAY_LEN(uuids)),
		                    .kernel = draw(g, kernels, ARRAY_LEN(kernels)),
		                    .host = draw(g, hosts, ARRAY_LEN(hosts)),
		                    .place = draw(g, places, ARRAY_LEN(places)),
		                    .size_bytes = rng_below(g, 3) * 1000,
		                    .serial_is_shared = rng_below(g, 4) == 0,
		                    .wwn_is_shared = rng_below(g, 4) == 0,
		                    .serial_is_bridges = rng_below(g, 4) == 0 };
}

static bool differ(const char *a, const char *b)
{
	return a && b && a[0] && b[0] && strcmp(a, b) != 0;
}

TEST(whatever_is_shown_the_answer_is_symmetric_and_never_yes_against_a_name)
{
	struct rng g;
	size_t yes = 0, no = 0;

	rng_init(&g, 51, 0);
	for (int i = 0; i < 200000; i++) {
		struct disk_names a = draw_names(&g), b = draw_names(&g);
		enum disk_name by, back;
		enum same_disk one = same_disk(&a, &b, &by), two = same_disk(&b, &a, &back);

		assert_int_equal(one, two);
		assert_int_equal(by, back);
		yes += one == DISK_SAME;
		no += one == DISK_OTHER;
		if (one != DISK_SAME)
			continue;
		assert_int_not_equal(by, NAME_NONE);
		/*
		 * the serial numbers of two disks, of which neither is a bridge's; but of one mapping the UUID says it
		 */
		assert_true(by == NAME_UUID || a.serial_is_bridges != b.serial_is_bridges ||
		            !differ(a.serial, b.serial));
		assert_false(a.size_bytes && b.size_bytes && a.size_bytes != b.size_bytes);
		assert_false(differ(a.uuid, b.uuid));
		if (by == NAME_PLACE)
			assert_true(!differ(a.host, b.host) && strcmp(a.place, b.place) == 0);
	}
	assert_true(yes > 1000 && no > 1000);
}

TEST(a_name_that_was_cut_is_another_name)
{
	static const char whole[] =
		"ceph--block--0f0e0d0c--0b0a--0908--0706--050403020100-osd--block--11111111--2222--3333--"
		"4444--555555555550";
	struct disk_names a = { .serial = whole, .wwn = whole, .uuid = whole };

	for (size_t n = 1; n < sizeof(whole) - 1; n++) {
		char cut[sizeof(whole)] = "";

		memcpy(cut, whole, n);
		for (int which = 0; which < 3; which++) {
			struct disk_names b = { .serial = which == 0 ? cut : NULL,
				                .wwn = which == 1 ? cut : NULL,
				                .uuid = which == 2 ? cut : NULL };

			assert_int_not_equal(same_disk(&a, &b, NULL), DISK_SAME);
		}
	}
	assert_int_equal(same_disk(&a, &a, NULL), DISK_SAME);
}

TEST(the_most_lasting_name_is_the_disks_own)
{
	struct disk_names d = { .serial = "WD-1234A", .wwn = "naa.50014ee20a1b2c3d", .uuid = "LVM-a" };
	enum disk_name which;

	assert_string_equal(disk_lasting_name(&d, &which), "WD-1234A");
	assert_int_equal(which, NAME_SERIAL);
	d.serial_is_bridges = true;
	assert_string_equal(disk_lasting_name(&d, &which), "naa.50014ee20a1b2c3d");
	d.wwn_is_shared = true;
	assert_string_equal(disk_lasting_name(&d, &which), "LVM-a");
	d.uuid = NULL;
	assert_string_equal(disk_lasting_name(&d, &which), "WD-1234A");
	assert_int_equal(which, NAME_BRIDGE);
	d.serial_is_shared = true;
	assert_null(disk_lasting_name(&d, &which));
	assert_int_equal(which, NAME_NONE);
}
