/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles as text: what is understood, what is refused and with which words, and that no text does harm. */
#include "test.h"

#include "cases.h"

#include <dirent.h>

#include "modelrun.h"
#include "profile_text.h"

static void parse(const char *text, struct profile *ret)
{
	MUST(profile_parse(ret, "a/b/test.disk", text, strlen(text), &err));
}

static void refused(const char *text, const char *words)
{
	struct err err = { 0 };
	struct profile p;
	int r = profile_parse(&p, "test.disk", text, strlen(text), &err);

	if (r >= 0)
		fail_msg("taken: %s", text);
	assert_int_equal(err.code, r);
	if (!strstr(err.text, words))
		fail_msg("'%s' gives '%s', not '%s'", text, err.text, words);
}

TEST(keys_values_and_comments_are_understood)
{
	cleanup_profile struct profile p = { 0 };

	parse("# all of it\n"
	      "model  Some Drive  # with spaces\n"
	      "rpm 5400.5\r\n"
	      "surfaces 3\n"
	      "physical_sector 4096\n"
	      "cache_kb 64\n\n"
	      "interface_mbs 33.3\n"
	      "\tqueue fifo\n"
	      "seek 1 0.5 100 4 0.01\n"
	      "layout seek-first 50 serpentine alternating\n"
	      "head_skew 36deg\n"
	      "cyl_skew 0.25\n"
	      "zone 100 30 20 10\n"
	      "layout head-first\n"
	      "zone 200 5\n"
	      "skip 3 1 4 2\n"
	      "bad 100 8 heal 2.5\n"
	      "slow 500 100 10 3\n"
	      "fail write 7 errno ENOSPC every 2\n"
	      "stall 1 0.5\n"
	      "gone_at_s 99\ngone_as zero\n"
	      "wobble 0.001 2\noutlier 0.1 5\n",
	      &p);
	assert_string_equal(p.name, "test");
	assert_string_equal(p.reported.model, "Some Drive");
	assert_true(p.spindle.rpm == 5400.5);
	assert_int_equal(p.cache.bytes, 65536);
	assert_true(fabs(p.path.interface_bytes_per_s - 33.3e6) < 1e-3);
	assert_int_equal(p.ctl.queue, QUEUE_FIFO);
	assert_true(p.seek.knee == 100 && p.seek.e_ms == 0.01);
	assert_int_equal(p.nzones, 2);
	assert_int_equal(p.zones[0].spt[2], 10);
	assert_int_equal(p.zones[1].spt[2], 5);
	assert_int_equal(p.zones[0].band_tracks, 50);
	assert_true(p.zones[0].tracks_alternate && p.zones[0].heads_alternate);
	assert_true(!p.zones[1].tracks_alternate && !p.zones[1].heads_alternate);
	assert_true(fabs(p.zones[0].head_skew - 0.1) < 1e-12 && p.zones[0].cyl_skew == 0.25);
	assert_true(p.zones[0].band_skew > 0 && p.zones[0].band_skew < 1); /* worked out */
	assert_int_equal(p.capacity_lba, (100 * 60 + 200 * 15 - 2) * 8);
	assert_int_equal(p.media.bads[0].kind, BAD_READ | BAD_HEALS);
	assert_int_equal(p.faults.fails[0].err, -ENOSPC);
	assert_int_equal(p.faults.gone, GONE_ZERO);
}

TEST(a_wrong_line_and_what_makes_no_sense_are_refused_with_their_sentence)
{
	struct cases c = cases_open(TEST_DATA "/cases/profiles");

	while (cases_next(&c)) {
		char *text = cases_field(&c), *says = cases_field(&c);

		for (char *end = text; (end = strchr(end, ';'));)
			*end = '\n';
		refused(text, says);
	}
	assert_true(c.n > 95);
}

TEST(more_than_there_may_be_is_refused)
{
	cleanup_free char *text = malloc(64 * 100002);
	size_t n = 0;

	for (int i = 0; i <= PROFILE_ZONES_MAX; i++)
		n += (size_t)sprintf(text + n, "zone 1 1\n");
	refused(text, "too many zones");
	n = (size_t)sprintf(text, "zone 1000 1000\n");
	for (int i = 0; i < 100001; i++)
		n += (size_t)sprintf(text + n, "skip 0 0 0 1\n");
	refused(text, "too many skips");
	memset(text, 'a', 5000);
	text[5000] = 0;
	refused(text, "the line is too long");
}

TEST(the_name_comes_from_the_file)
{
	cleanup_profile struct profile p = { 0 };

	parse("zone 10 10", &p);
	assert_string_equal(p.name, "test");
	assert_string_equal(p.reported.model, "test");
	profile_done(&p);
	parse("name other\nzone 10 10", &p);
	assert_string_equal(p.name, "other");
}

TEST(a_missing_file_is_an_error_with_its_name)
{
	struct err err = { 0 };
	struct profile p;

	assert_int_equal(profile_load(&p, "/nowhere/x.disk", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/x.disk"));
}

static char *saved(const struct profile *p, size_t *ret_len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);

	assert_int_equal(profile_save(f, p), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void check_round_trip(const struct profile *p)
{
	size_t n1, n2;
	char *t1 = saved(p, &n1), *t2;
	cleanup_profile struct profile back = { 0 };

	MUST(profile_parse(&back, "again", t1, n1, &err));
	t2 = saved(&back, &n2);
	assert_int_equal(n1, n2);
	assert_memory_equal(t1, t2, n1);
	assert_int_equal(back.capacity_lba, p->capacity_lba);
	free(t1);
	free(t2);
}

TEST(what_is_saved_is_read_back_the_same)
{
	struct profile p;
	size_t len;
	char *text;

	for (uint64_t seed = 0; seed < 100; seed++) {
		const struct profile_limits limits = { .slow_regions = 2, .bad_regions = 3, .retry_per_gb = 0.1 };

		assert_int_equal(profile_random(&p, seed, &limits, NULL), 0);
		check_round_trip(&p);
		profile_done(&p);
	}
	parse("zone 100 10\nfail any 3 short 512 delay 1 every 9\nstall 1 2\ngone_at_s 5\ngone_as zero\nbad 1 1 heal 3 ENODATA\nread_ahead no\n"
	      "seek 1 2\nkind rotating\ndrop_writes_from 8\n",
	      &p);
	check_round_trip(&p);
	profile_done(&p);
	parse(RUN_BASE UNRULY "seek_point 3 1.5 0.1\nseek_point 5 2\nreported_rpm 5400\nrpm_drift -0.01 5\n" RUN_ZONE,
	      &p);
	text = saved(&p, &len);
	assert_non_null(strstr(text, "\nrpm_drift -0.01"));
	check_round_trip(&p);
	profile_done(&p);
	free(text);
	parse(RUN_BASE RUN_ZONE, &p);
	text = saved(&p, &len);
	assert_true(!strstr(text, "scatter") && !strstr(text, "completion")); /* what is off is not mentioned */
	profile_done(&p);
	free(text);
}

TEST(every_profile_that_we_give_is_good)
{
	DIR *dir = opendir(SIMDISK_PROFILES);
	const struct dirent *e;
	int n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		struct profile p;

		if (!strstr(e->d_name, ".disk"))
			continue;
		MUST(profile_load(&p, textf(SIMDISK_PROFILES "/%s", e->d_name), &err));
		assert_memory_equal(p.name, e->d_name, strlen(p.name)); /* found by its name */
		check_round_trip(&p);
		profile_done(&p);
		n++;
	}
	(void)closedir(dir);
	assert_true(n >= 18);
}

/* Those of drives whose traces are known: what slips and spares take away leaves what the drive had, or a little more,
 * which its size cuts. */
TEST(the_profiles_of_traced_drives_have_the_drives_blocks)
{
	static const struct {
		const char *name;
		uint64_t blocks, zone; /* zone: where the second one begins, as published; 0: there is one */
	} drives[] = { { "atlas-iii", 17783250, 1448956 },   { "barracuda", 4110000, 1032496 },
		       { "cheetah4lp", 8887200, 2084544 },   { "ibm18es", 17916240, 499197 },
		       { "dec-rz26", 2050860, 0 },           { "hp-c2247a", 2054864, 664800 },
		       { "maxtor300g", 585937499, 46548843 } };

	for (size_t i = 0; i < ARRAY_LEN(drives); i++) {
		struct truth_zone zones[PROFILE_ZONES_MAX];
		struct geometry *g;
		cleanup_profile struct profile p = { 0 };
		size_t n;

		assert_int_equal(profile_load(&p, textf(SIMDISK_PROFILES "/%s.disk", drives[i].name), NULL), 0);
		g = geometry_new(&p);
		assert_non_null(g);
		assert_int_equal(geometry_lbas(g), drives[i].blocks);
		assert_true(p.seek.npoints > 10);
		n = truth_zones(g, zones, PROFILE_ZONES_MAX);
		assert_true(n > 1 || drives[i].zone == 0);
		if (n > 1 && llabs((long long)(zones[1].first_byte / 512) - (long long)drives[i].zone) > 16)
			fail_msg("%s: the second zone begins at %llu", drives[i].name,
			         (unsigned long long)zones[1].first_byte / 512);
		geometry_free(g);
	}
}

/* Good profiles with bytes changed, lines doubled and cut: refused or taken, and when taken, usable. */
TEST(no_text_does_harm)
{
	static const char *const base =
		"rpm 7200\nsurfaces 4\ncache_kb 512\nsegments 4\nseek 0.8 0.06 30 1.4 0.0015\nlayout seek-first 7 serpentine\nhead_skew 0.1\n"
		"zone 20 40 30 20 10\nzone 20 32\nskip 3 1 4 2\nskip 30 2\nbad 100 8 heal 2.5\nslow 500 100 10 3\nfail write 7 errno ENOSPC every 2\n"
		"stall 1 0.5\ngone_at_s 99\nwobble 0.001 2\noutlier 0.1 5\nwrite_cache_kb 64\nretry_per_gb 10\n";
	int taken = 0;
	struct rng rng;

	rng_init(&rng, 1, 1);
	for (int i = 0; i < 20000; i++) {
		static const char bytes[] = "0123456789.e-# \n\tzdskipbadfailr\0w\377";
		char text[2048];
		size_t len = strlen(base);
		cleanup_profile struct profile p = { 0 };

		memcpy(text, base, len);
		for (uint64_t k = rng_below(&rng, 4) + 1; k; k--) {
			size_t at = rng_below(&rng, len), n = rng_below(&rng, 20);

			switch (rng_below(&rng, 4)) {
			case 0:
			case 1:
				text[at] = bytes[rng_below(&rng, sizeof(bytes))];
				break;
			case 2: /* cut out */
				n = n < len - at ? n : len - at;
				memmove(text + at, text + at + n, len - at - n);
				len -= n;
				break;
			default: /* double */
				n = n < len - at ? n : len - at;
				memmove(text + at + n, text + at, len - at);
				len += n;
				break;
			}
			if (len == 0 || len > 1900)
				break;
		}
		if (profile_parse(&p, "x", text, len, NULL) < 0)
			continue;
		taken++;
		if (p.capacity_lba < 10000000) {
			struct geometry *g = geometry_new(&p);
			struct disk *d = disk_new(&p, 0);
			const struct disk_req q = { .len_bytes = p.logical_sector_bytes * 8 };
			struct truth_zone z[PROFILE_ZONES_MAX];
			struct disk_done done;

			assert_non_null(g);
			assert_non_null(d);
			assert_true(truth_stream_ns(g, 0, geometry_bytes(g)) > 0);
			assert_true(truth_zones(g, z, PROFILE_ZONES_MAX) > 0);
			assert_int_equal(disk_submit(d, 0, &q), 0);
			disk_advance(d, 1ull << 62);
			assert_true(disk_pop_done(d, UINT64_MAX, &done));
			disk_free(d);
			geometry_free(g);
		}
	}
	assert_true(taken > 500); /* or the test says nothing */
}

/* What profile_save can write, and the page about it: platter-simdisk-profile(5). */
TEST(every_key_is_in_the_manual)
{
	const char *page = file_text(SIMDISK_PROFILES "/../../../man/platter-simdisk-profile.5");
	char *text, *line, *save = NULL;
	cleanup_profile struct profile p = { 0 };
	size_t len;
	int n = 0;

	parse("vendor x\ntransport x\nnote x\nskip 0 0 1\nbad 1 1 r 1\nslow 5 1 1 1\nfail any 1\nstall 1 1\ngone_at_s 5\nzone 10 10\n",
	      &p);
	text = saved(&p, &len);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		if (!strstr(page, textf("\n.It Cm %.*s ", (int)strcspn(line, " "), line)))
			fail_msg("not in the manual: %s", line);
	}
	assert_true(n > 50);
	for (size_t i = 0; traits_key(i); i++) {
		if (!strstr(page, textf("\n.It Cm %s ", traits_key(i))))
			fail_msg("not in the manual: %s", traits_key(i));
	}
	free(text);
}
