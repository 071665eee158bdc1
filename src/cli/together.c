/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --hosts: one command line on many hosts. Which targets are this host's, where its own result goes, and that of all
 * from rank 0. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "hosts/hosts.h"

#define HOST_WAIT_NS (10 * NS_PER_S) /* a host that is silent for so long is lost */

struct together {
	const struct measure *m;
	struct hosts *hosts;
	const char *json; /* of all */
	char *own_json, *own_requests;
	char **paths;
	size_t npaths;
	bool has_met, is_agreed;
};

bool together_speaks(const struct together *t)
{
	return !t || !t->hosts || hosts_rank(t->hosts) == 0 || hosts_is_alone(t->hosts);
}

/* ---- names ---- */

/* %h and %r in a target's name; heap. */
static char *fill_in(const char *name, const char *host, unsigned rank)
{
	char *out = malloc(strlen(name) * HOST_NAME_BYTES + 16), *at = out;

	for (; out && *name; name++) {
		if (name[0] == '%' && name[1] == 'h')
			at += sprintf(at, "%s", host);
		else if (name[0] == '%' && name[1] == 'r')
			at += sprintf(at, "%u", rank);
		else {
			*at++ = *name;
			continue;
		}
		name++;
	}
	if (out)
		*at = '\0';
	return out;
}

static int add_path(struct together *t, const char *name, const char *host, struct err *err)
{
	char **more = reallocarray(t->paths, t->npaths + 1, sizeof(*more));

	if (more)
		t->paths = more;
	if (!more || !(t->paths[t->npaths] = fill_in(name, host, hosts_rank(t->hosts))))
		return err_set(err, -ENOMEM, "Out of memory.");
	t->npaths++;
	return 0;
}

/* ---- the way in ---- */

static char *words_of(int argc, const char *const *argv)
{
	char *words = NULL;
	size_t n;
	FILE *f = open_memstream(&words, &n);

	for (int i = 1; f && i < argc; i++)
		fprintf(f, "%s\n", argv[i]);
	return f && fclose(f) == 0 ? words : NULL;
}

/* The outputs of all are for rank 0, those of each host have its rank in their names. */
static void share_outputs(struct together *t, struct cli_params *p)
{
	unsigned rank = hosts_rank(t->hosts);

	t->json = p->json;
	t->own_json = hosts_own_file(p->json, rank);
	t->own_requests = hosts_own_file(p->requests, rank);
	p->json = t->own_json;
	p->requests = t->own_requests;
	if (rank == 0)
		return;
	p->csv = p->html = p->jsonl = p->prometheus = NULL;
	p->quiet = true;
	p->progress = PROGRESS_NONE;
}

int together_join(struct together **ret, const struct env *env, const struct measure *m, struct cli_params *p, int argc,
                  const char *const *argv, const char *const **operands, size_t *n, struct err *err)
{
	struct hosts_config cfg = {
		.clk = env->clk, .wait_ns = HOST_WAIT_NS, .cancel = &cli_signal, .seed = session_fresh_seed(env->clk)
	};
	cleanup_free char *words = NULL;
	struct together *t;
	int r;

	if (p->hosts == HOSTS_NO)
		return 0;
	if (!m->together)
		return err_set(err, -EINVAL, "%s has no result of many hosts; run it on each of them, without --hosts.",
		               m->name);
	*ret = t = calloc(1, sizeof(*t));
	words = words_of(argc, argv);
	if (!t || !words)
		return err_set(err, -ENOMEM, "Out of memory.");
	t->m = m;
	r = hosts_load(&cfg.transport, hosts_words[p->hosts], env->modules, err);
	if (r < 0)
		return r;
	if (gethostname(cfg.name, sizeof(cfg.name) - 1) < 0)
		(void)snprintf(cfg.name, sizeof(cfg.name), "rank%u", cfg.transport->rank);
	r = hosts_new(&t->hosts, &cfg, err);
	if (r < 0)
		return r;
	r = hosts_meet(t->hosts, words, 0, err);
	if (r < 0)
		return r;
	t->has_met = true;
	share_outputs(t, p);
	for (size_t i = 0; r == 0 && i < *n; i++)
		r = add_path(t, (*operands)[i], cfg.name, err);
	*operands = (const char *const *)t->paths;
	*n = t->npaths;
	return r;
}

int together_agree(struct together *t, int r, bool *refused, struct err *err)
{
	if (!t || !t->has_met)
		return r;
	r = hosts_agree(t->hosts, r, refused, err);
	t->is_agreed = r == 0;
	return r;
}

bool together_is_agreed(const struct together *t)
{
	return t && t->is_agreed;
}

struct session_host together_host(const struct together *t)
{
	return t ? (struct session_host){ hosts_rank(t->hosts), hosts_count(t->hosts), hosts_seed(t->hosts) }
	         : (struct session_host){ 0 };
}

void together_start(struct together *t)
{
	hosts_start(t->hosts);
}

const char *together_json(const struct together *t)
{
	return t && t->hosts && hosts_rank(t->hosts) == 0 ? t->json : NULL;
}

/* ---- the way out ---- */

int together_gather(struct together *t, struct cli_params *p, uint64_t began_ns, struct result **res, struct err *err)
{
	struct hosts_part *parts = NULL;
	struct err why = { 0 };
	int r;

	if (!t)
		return 0;
	if (*res && t->own_json &&
	    outfile_save(outfiles_find(&p->common.files, t->own_json), result_write, *res, &why) < 0)
		result_notice(*res, "not-saved", "This host's own result was not saved: %s", why.text);
	r = hosts_gather(t->hosts, *res, began_ns, &parts, err);
	p->json = hosts_rank(t->hosts) == 0 ? t->json : NULL;
	if (!parts)
		return r;
	result_free(*res);
	*res = hosts_merge(parts, hosts_count(t->hosts), t->m->together);
	hosts_parts_free(parts, hosts_count(t->hosts));
	return 0;
}

void together_leave(struct together *t)
{
	if (!t)
		return;
	hosts_free(t->hosts);
	for (size_t i = 0; i < t->npaths; i++)
		free(t->paths[i]);
	free(t->paths);
	free(t->own_json);
	free(t->own_requests);
	free(t);
}
