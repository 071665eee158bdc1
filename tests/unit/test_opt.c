/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/opt_help.h"
#include "golden.h"

#include "base/units.h"
#include "cli/cli.h"

struct params {
	bool flag;
	uint64_t count, block_bytes, time_ns, rate_bytes_per_s;
	double factor, ratio;
	const char *name;
	int mode, when;
	struct strs words;
};

static const char *const modes[] = { "read", "write", "rewrite", NULL };
static const char *const whens[] = { "auto", "always", NULL };

#define P struct params
static const struct opt opts[] = {
	OPT_FLAG(P, flag, "flag", 'f', "a flag"),
	OPT_U64(P, count, "count", 'c', "COUNT", "7", "how many", .min = 1, .max = 100),
	OPT_BYTES(P, block_bytes, "block", 'b', "SIZE", "1MiB", "size of a block", .min = 512),
	OPT_TIME(P, time_ns, "time", 0, "TIME", NULL, "how long"),
	OPT_RATE(P, rate_bytes_per_s, "rate", 0, "RATE", "max", "how fast", .min = 1000, .max = 1e12),
	OPT_F64(P, factor, "factor", 0, "NUMBER", "1.5", "a factor", .min = -2, .max = 2),
	OPT_RATIO(P, ratio, "precision", 0, "RATIO", "1%", "how narrow"),
	OPT_STR(P, name, "name", 'n', "NAME", NULL, "a name"),
	OPT_CHOICE(P, mode, "mode", 'm', modes, "read", "what to do"),
	OPT_CHOICE(P, when, "when", 'w', whens, "auto", "at what time", .implied = "always"),
	OPT_STRS(P, words, "word", 0, "WORD", "a word, may be given several times"),
	OPT_END,
};
#undef P

/* Parses; the words are those after the command's name. */
static int parse(struct params *p, struct err *err, int *ret_first, const char *const *words, int n)
{
	const struct opt_set set = { opts, p };
	char name[] = "cmd", *argv[20] = { name };

	for (int i = 0; i < n; i++)
		argv[i + 1] = (char *)(uintptr_t)words[i]; /* getopt moves pointers, not letters */
	*ret_first = -1;
	return opt_parse(&set, 1, n + 1, argv, ret_first, err);
}

#define PARSE(p, err, first, ...) \
	parse(p, err, first, (const char *[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

static void forget(struct params *p)
{
	opt_done(&(const struct opt_set){ opts, p }, 1);
}

TEST(defaults_come_from_the_table)
{
	struct params p;
	struct err err = { 0 };
	int first;

	memset(&p, 0xff, sizeof(p));
	assert_int_equal(PARSE(&p, &err, &first, "/dev/sda"), 0);
	assert_int_equal(first, 1);
	assert_false(p.flag);
	assert_int_equal(p.count, 7);
	assert_int_equal(p.block_bytes, 1 << 20);
	assert_int_equal(p.time_ns, 0);
	assert_true(p.rate_bytes_per_s == RATE_MAX);
	assert_true(p.factor == 1.5);
	assert_true(p.ratio == 0.01);
	assert_null(p.name);
	assert_int_equal(p.mode, 0);
	assert_int_equal(p.words.n, 0);
}

TEST(every_type_is_parsed_in_every_form)
{
	struct params p;
	struct err err = { 0 };
	int first;

	assert_int_equal(PARSE(&p, &err, &first, "-fc9", "-b", "4K", "--time=2m", "--rate", "256Mbit", "--factor=-0.5",
	                       "--precision=0.25", "-nx", "-mwrite", "-w", "dev"),
	                 0);
	assert_true(p.flag);
	assert_int_equal(p.count, 9);
	assert_int_equal(p.block_bytes, 4096);
	assert_true(p.time_ns == 120 * NS_PER_S);
	assert_int_equal(p.rate_bytes_per_s, 32000000);
	assert_true(p.factor == -0.5);
	assert_true(p.ratio == 0.25);
	assert_string_equal(p.name, "x");
	assert_int_equal(p.mode, 1);
	assert_int_equal(p.when, 1);
	assert_int_equal(first, 12);
}

TEST(operands_may_stand_between_options)
{
	struct params p;
	struct err err = { 0 };
	char words[][8] = { "cmd", "a", "--flag", "b", "--", "--count" };
	char *argv[] = { words[0], words[1], words[2], words[3], words[4], words[5], NULL };
	int first;

	assert_int_equal(opt_parse(&(const struct opt_set){ opts, &p }, 1, 6, argv, &first, &err), 0);
	assert_true(p.flag);
	assert_int_equal(first, 3);
	assert_string_equal(argv[3], "a");
	assert_string_equal(argv[4], "b");
	assert_string_equal(argv[5], "--count");
}

TEST(repeated_options_add_up_or_the_last_one_wins)
{
	struct params p;
	struct err err = { 0 };
	int first;

	assert_int_equal(PARSE(&p, &err, &first, "--word=a", "--count=1", "--word", "b", "--count=2"), 0);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.words.n, 2);
	assert_string_equal(p.words.v[0], "a");
	assert_string_equal(p.words.v[1], "b");
	forget(&p);
	assert_int_equal(p.words.n, 0);
}

TEST(an_optional_value_is_taken_only_after_the_equals_sign)
{
	struct params p;
	struct err err = { 0 };
	int first;

	assert_int_equal(PARSE(&p, &err, &first, "--when", "auto"), 0);
	assert_int_equal(p.when, 1);
	assert_int_equal(first, 2);
	assert_int_equal(PARSE(&p, &err, &first, "--when=auto"), 0);
	assert_int_equal(p.when, 0);
}

static void fails(const char *fragment, const char *word)
{
	struct params p;
	struct err err = { 0 };
	size_t len;
	int first;

	assert_int_equal(PARSE(&p, &err, &first, "--word=x", word), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	if (!strstr(err.text, fragment))
		fail_msg("%s gave \"%s\", which lacks \"%s\"", word, err.text, fragment);
	len = strlen(err.text);
	assert_true(err.text[len - 1] == '.' || err.text[len - 1] == '?');
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(p.words.n, 0); /* nothing is left behind */
	assert_int_equal(first, -1);
}

TEST(every_wrong_value_gets_a_sentence)
{
	fails("--count: '0' is out of range; give 1 to 100.", "--count=0");
	fails("1 to 100", "-c101");
	fails("--count", "--count=-1");
	fails("--count", "--count=99999999999999999999999");
	fails("--count", "--count=");
	fails("--count", "--count=NaN");
	fails("at least 512", "--block=511");
	fails("--block", "--block=1Q");
	fails("--block", "--block=-4K");
	fails("--block", "--block=1e30");
	fails("--time", "--time=5parsec");
	fails("1KB to 1TB", "--rate=1B");
	fails("--factor: '3' is out of range; give -2 to 2.", "--factor=3");
	fails("--factor", "--factor=nan");
	fails("--factor", "--factor=inf");
	fails("--precision", "--precision=1%%");
	fails("--name: The value is empty; give NAME.", "--name=");
	fails("read, write, rewrite", "--mode=erase");
	fails("did you mean write?", "--mode=wirte");
}

TEST(every_wrong_option_gets_a_sentence)
{
	fails("There is no option --blok; did you mean --block?", "--blok=1");
	fails("There is no option --nonsense; --help lists all.", "--nonsense");
	fails("There is no option -x", "-x");
	fails("--flag takes no value", "--flag=1");
	fails("--count needs a value; write --count=COUNT.", "--count");
	fails("--count needs a value", "-c");
	fails("--mode needs a value", "--mode");
}

TEST(long_options_may_not_be_shortened)
{
	fails("There is no option --blo; did you mean --block?", "--blo=1M");
	fails("There is no option --f", "--f");
}

TEST(several_tables_fill_their_own_structs)
{
	struct other {
		uint64_t depth;
	} other;
	static const struct opt more[] = { OPT_U64(struct other, depth, "depth", 'd', "COUNT", "4", "requests"),
		                           OPT_END };
	struct params p;
	const struct opt_set sets[] = { { opts, &p }, { more, &other }, { NULL, NULL } };
	char words[][8] = { "cmd", "-d8", "-c2" };
	char *argv[] = { words[0], words[1], words[2], NULL };
	struct err err = { 0 };
	int first;

	assert_int_equal(opt_parse(sets, 3, 3, argv, &first, &err), 0);
	assert_int_equal(p.count, 2);
	assert_int_equal(other.depth, 8);
	assert_int_equal(opt_parse(sets, 3, 1, argv, &first, &err), 0);
	assert_int_equal(other.depth, 4);
}

/* What is printed as the value in force gives the same value when typed. */
TEST(values_in_force_can_be_typed_again)
{
	struct params p, q;
	struct err err = { 0 };
	int first;

	assert_int_equal(PARSE(&p, &err, &first, "-f", "--count=33", "--block=1536", "--time=1.5s", "--rate=1.5GiB",
	                       "--factor=0.1", "--precision=0.3%", "--name=a b", "--mode=rewrite", "--when=always"),
	                 0);
	for (const struct opt *o = opts; o->type != OPT_TYPE_END; o++) {
		cleanup_free char *text = opt_value_text(o, &p), *word = NULL, *again = NULL;

		if (o->type == OPT_TYPE_FLAG || o->type == OPT_TYPE_STRS)
			continue;
		assert_true(asprintf(&word, "--%s=%s", o->name, text) > 0);
		assert_int_equal(PARSE(&q, &err, &first, word), 0);
		again = opt_value_text(o, &q);
		assert_string_equal(text, again);
	}
	assert_int_equal(PARSE(&q, &err, &first, "--time=1.5s"), 0);
	assert_true(q.time_ns == p.time_ns);
}

TEST(help_stays_within_80_columns)
{
	static const struct opt *const tables[] = { opts, common_opts, view_opts };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		cleanup_free char *text = WRITTEN(f, opt_help(f, tables[i]));

		(void)expect_lines_within(text, 80);
	}
}

TEST(help_shows_letter_name_argument_choices_and_default)
{
	cleanup_free char *text = WRITTEN(f, opt_help(f, opts));

	assert_non_null(strstr(text, " -b, --block=SIZE           size of a block (default 1MiB)\n"));
	assert_non_null(strstr(text, "what to do: read, write, rewrite (default read)"));
	assert_non_null(strstr(text, "--when[=WORD]"));
	assert_non_null(strstr(text, " -f, --flag                 a flag\n"));
}

TEST(the_nearest_name_is_near)
{
	static const char *const names[] = { "info", "zones", "seek", "geometry", "stream", "cache", "compare" };
	const struct {
		const char *word, *near;
	} cases[] = {
		{ "zone", "zones" },   { "znoes", "zones" },     { "sek", "seek" },      { "geom", "geometry" },
		{ "strem", "stream" }, { "xyzzy", NULL },        { "", NULL },           { "a", NULL },
		{ "comp", "compare" }, { "compair", "compare" }, { "frobnicate", NULL }, { "geometry-x", "geometry" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *near = opt_nearest(cases[i].word, names, ARRAY_LEN(names));

		if (!cases[i].near)
			assert_null(near);
		else if (!near || strcmp(near, cases[i].near) != 0)
			fail_msg("%s: %s", cases[i].word, near ? near : "nothing");
	}
}
