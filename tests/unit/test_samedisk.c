/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "base/samedisk.h"

#define S(...)              \
	{                   \
		__VA_ARGS__ \
	}

struct pair {
	struct disk_names a, b;
	enum same_disk answer;
	enum disk_name by;
};

static void ask_both_ways(const struct pair *p, size_t i)
{
	enum disk_name by, back;
	enum same_disk one = same_disk(&p->a, &p->b, &by), two = same_disk(&p->b, &p->a, &back);

	if (one != p->answer || by != p->by || two != one || back != by)
		fail_msg("pair %zu: %d by %s, and the other way %d by %s; %d by %s is right", i, (int)one,
		         disk_name_text(by), (int)two, disk_name_text(back), (int)p->answer, disk_name_text(p->by));
}

TEST(two_disks_are_one_where_a_lasting_name_says_so)
{
	static const struct pair pairs[] = {
		/* nothing is known */
		{ S(0), S(0), DISK_UNKNOWN, NAME_NONE },
		{ S(.model = "ST4000"), S(.model = "ST4000"), DISK_UNKNOWN, NAME_NONE },
		{ S(.model = "ST4000"), S(.model = "WD40"), DISK_OTHER, NAME_MODEL },
		/* serial numbers */
		{ S(.serial = "WD-1234A"), S(.serial = "WD-1234A"), DISK_SAME, NAME_SERIAL },
		{ S(.serial = "WD-1234A"), S(.serial = "WD-1234B"), DISK_OTHER, NAME_SERIAL },
		{ S(.serial = "WD-1234A"), S(0), DISK_UNKNOWN, NAME_NONE },
		{ S(.serial = "WD-1234A", .model = "X1"), S(.serial = "WD-1234A", .model = "Y2"), DISK_UNKNOWN,
		  NAME_SERIAL },
		{ S(.serial = "WD-1234A", .serial_is_shared = true), S(.serial = "WD-1234A"), DISK_UNKNOWN, NAME_NONE },
		/* one world-wide name for all bays of a dock, one EUI for all drives of a make */
		{ S(.serial = "WD-WX10000AAAAA", .wwn = "naa.50014ee20a1b2c3d"),
		  S(.serial = "WD-WX10000BBBBB", .wwn = "naa.50014ee20a1b2c3d"), DISK_OTHER, NAME_SERIAL },
		{ S(.serial = "2K07201234500", .wwn = "eui.6479a72be0000000", .kernel = "nvme0n1"),
		  S(.serial = "2K07201234501", .wwn = "eui.6479a72be0000000", .kernel = "nvme1n1"), DISK_OTHER,
		  NAME_SERIAL },
		{ S(.wwn = "naa.50014ee20a1b2c3d", .model = "A1"), S(.wwn = "naa.50014ee20a1b2c3d", .model = "B2"),
		  DISK_UNKNOWN, NAME_WWN },
		{ S(.wwn = "naa.50014ee20a1b2c3d"), S(.wwn = "naa.50014ee20a1b2c3d"), DISK_SAME, NAME_WWN },
		{ S(.wwn = "naa.5000000000000000"), S(.wwn = "naa.5000000000000000"), DISK_UNKNOWN, NAME_NONE },
		{ S(.wwn = "naa.50014ee20a1b2c3d"), S(.wwn = "naa.50014ee20a1b2c3e"), DISK_OTHER, NAME_WWN },
		/* another kind of name says nothing against it */
		{ S(.wwn = "naa.50014ee20a1b2c3d", .serial = "WD-1234A"),
		  S(.wwn = "t10.ATA WDC WD-1234A", .serial = "WD-1234A"), DISK_SAME, NAME_SERIAL },
		/* namespaces */
		{ S(.serial = "S3EVNX0J", .kernel = "nvme0n1"), S(.serial = "S3EVNX0J", .kernel = "nvme3n1"), DISK_SAME,
		  NAME_SERIAL },
		{ S(.serial = "S3EVNX0J", .kernel = "nvme0n1"), S(.serial = "S3EVNX0J", .kernel = "nvme0n2"),
		  DISK_OTHER, NAME_NAMESPACE },
		/* sizes */
		{ S(.serial = "WD-1234A", .size_bytes = 1), S(.serial = "WD-1234A", .size_bytes = 2), DISK_OTHER,
		  NAME_SIZE },
		{ S(.serial = "WD-1234A", .size_bytes = 1), S(.serial = "WD-1234A"), DISK_SAME, NAME_SERIAL },
		/* bridges */
		{ S(.serial = "575835314139394E", .serial_is_bridges = true),
		  S(.serial = "575835314139394E", .serial_is_bridges = true), DISK_SAME, NAME_BRIDGE },
		{ S(.serial = "575835314139394E", .serial_is_bridges = true, .serial_is_shared = true),
		  S(.serial = "575835314139394E", .serial_is_bridges = true, .serial_is_shared = true), DISK_UNKNOWN,
		  NAME_NONE },
		{ S(.serial = "575835314139394E", .serial_is_bridges = true),
		  S(.serial = "575835314139394E", .serial_is_bridges = false), DISK_UNKNOWN, NAME_NONE },
		{ S(.serial = "575835314139394E", .serial_is_bridges = true, .wwn = "naa.50014ee20a1b2c3d"),
		  S(.serial = "WD-1234A", .wwn = "naa.50014ee20a1b2c3d"), DISK_SAME, NAME_WWN },
		{ S(.serial = "575835314139394E", .serial_is_bridges = true, .wwn = "naa.50014ee20a1b2c3d"),
		  S(.serial = "575835314139395F", .serial_is_bridges = true, .wwn = "naa.50014ee20a1b2c3d"),
		  DISK_UNKNOWN, NAME_BRIDGE },
		/* mappings: their names, whole; files of two hosts */
		{ S(.uuid = "LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0"),
		  S(.uuid = "LVM-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"), DISK_OTHER,
		  NAME_UUID },
		{ S(.uuid = "LVM-abc0"), S(.uuid = "LVM-abc0"), DISK_SAME, NAME_UUID },
		{ S(.uuid = "file-12-ab"), S(.uuid = "file-12-ab"), DISK_SAME, NAME_UUID },
		{ S(.uuid = "file-12-ab", .host = "h1"), S(.uuid = "file-12-ab", .host = "h2"), DISK_UNKNOWN,
		  NAME_NONE },
		/* hosts */
		{ S(.host = "h1", .place = "/dev/vda"), S(.host = "h2", .place = "/dev/vda"), DISK_UNKNOWN, NAME_NONE },
		{ S(.host = "h1", .place = "/dev/vda"), S(.host = "h1", .place = "/dev/vda"), DISK_SAME, NAME_PLACE },
		{ S(.host = "h1", .place = "/dev/vda"), S(.place = "/dev/vda"), DISK_UNKNOWN, NAME_NONE },
		{ S(.place = "/dev/vda"), S(.place = "/dev/vda"), DISK_SAME, NAME_PLACE },
		{ S(.host = "h1", .place = "/dev/vda"), S(.host = "h1", .place = "/dev/vdb"), DISK_UNKNOWN, NAME_NONE },
		{ S(.host = "h1", .place = "/dev/sda", .serial = "WD-1234A"),
		  S(.host = "h2", .place = "/dev/sdb", .serial = "WD-1234A"), DISK_SAME, NAME_SERIAL },
		{ S(.host = "h1", .place = "/dev/sda", .serial = "WD-1234A"), S(.host = "h1", .place = "/dev/sda"),
		  DISK_UNKNOWN, NAME_NONE },
		{ S(.host = "h1", .place = "/dev/sda", .serial = "0123456789ABCDEF"),
		  S(.host = "h2", .place = "/dev/sda", .serial = "0123456789ABCDEF"), DISK_UNKNOWN, NAME_NONE },
		{ S(.host = "h1", .place = "/dev/sda", .serial = "0123456789ABCDEF"),
		  S(.host = "h1", .place = "/dev/sda", .serial = "0123456789ABCDEF"), DISK_SAME, NAME_PLACE },
		{ S(.host = "h1", .place = "/dev/sda", .serial = "WD-1234A", .serial_is_shared = true),
		  S(.host = "h1", .place = "/dev/sda", .serial = "WD-1234A"), DISK_SAME, NAME_PLACE },
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		ask_both_ways(&pairs[i], i);
}

TEST(what_everybody_shows_identifies_nothing)
{
	static const char *const nothing[] = {
		"",
		"0",
		"00000000",
		"000000000000",
		"000000000001",
		"FFFFFFFF",
		"XXXXXXXXXXXX",
		"0123456789ABCDEF",
		"0123456789abcdef",
		"123456789012",
		"1234567890123456",
		"12345678",
		"9876543210",
		"ABCDEFGHIJ",
		"12341234",
		"ABABABABABAB",
		"00-00-00-00",
		"None",
		"none ",
		"N/A",
		"Default string",
		"To be filled by O.E.M.",
		"Not Specified",
		"Serial Number",
		"    ",
		"ST4000DM004-2CV104",
		"st4000dm004 2cv104",
		"Seagate",
		"Seagate ST4000DM004-2CV104",
		"naa.5000000000000000",
		"naa.0000000000000000",
		"eui.0000000000000000",
		"eui.ffffffffffffffff",
		"uuid.00000000-0000-0000-0000-000000000000",
	};
	static const char *const something[] = {
		"WD-WCC7K5", "S79J",           "575835314139394E",     "2K07201234500",        "SER12345",
		"ZFN0A1B2",  "20190000001234", "naa.5000c500a1b2c3d4", "eui.002538b000000001", "WD-WX10000AAAAA",
	};
	const struct disk_names of = { .model = "ST4000DM004-2CV104", .vendor = "Seagate" };
	const struct disk_names made_of_zeros = { .serial = "000000000000" };

	for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
		if (name_identifies(nothing[i], &of))
			fail_msg("\"%s\" identifies a disk", nothing[i]);
	for (size_t i = 0; i < ARRAY_LEN(something); i++)
		if (!name_identifies(something[i], &of))
			fail_msg("\"%s\" identifies nothing", something[i]);
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
