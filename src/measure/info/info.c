/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is this device, what is on it, may it be written. Opens nothing for writing; what it reports is what probe.c and
 * survey.c found, and the verdict is the write gate's own (permit_verdict), so that `info` and a refusal never
 * disagree. For people there are sections of properties as text (sheet.c); scripts find the same typed in the
 * document's targets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "device/columns.h"
#include "measure/info/info.h"

struct info_params {
	bool quick;
};

static const struct opt info_opts[] = {
	OPT_FLAG(struct info_params, quick, "quick", 0, "do not look at what is on the devices and who uses them"),
	OPT_END,
};

/* ---- tables ---- */

struct partition_row {
	const char *name, *holds, *used;
	uint64_t number, offset_bytes, size_bytes;
};
static const struct field partition_fields[] = {
	FIELD_STR(struct partition_row, name, "name"),
	FIELD_U64(struct partition_row, number, UNIT_NONE, "number"),
	FIELD_U64(struct partition_row, offset_bytes, UNIT_BYTES, "start"),
	FIELD_U64(struct partition_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_STR(struct partition_row, holds, "holds"),
	FIELD_STR(struct partition_row, used, "used as"),
	FIELD_END,
};

struct finding_row {
	const char *device, *on, *kind, *what, *where;
};
static const struct field signature_fields[] = {
	FIELD_STR(struct finding_row, device, "device", .detail = true),
	FIELD_STR(struct finding_row, on, "on"),
	FIELD_STR(struct finding_row, what, "type"),
	FIELD_STR(struct finding_row, where, "what and where"),
	FIELD_END,
};
static const struct field user_fields[] = {
	FIELD_STR(struct finding_row, device, "device", .detail = true),
	FIELD_STR(struct finding_row, on, "on"),
	FIELD_STR(struct finding_row, kind, "use"),
	FIELD_STR(struct finding_row, what, "by"),
	FIELD_STR(struct finding_row, where, "where"),
	FIELD_END,
};

struct device_info_row {
	const char *path, *name, *kind, *may_write, *write;
	uint64_t size_bytes, nonzero_samples;
};
static const struct field device_info_fields[] = {
	FIELD_STR(struct device_info_row, path, "path"),
	FIELD_STR(struct device_info_row, name, "name", .detail = true),
	FIELD_STR(struct device_info_row, kind, "kind"),
	FIELD_U64(struct device_info_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_STR(struct device_info_row, may_write, "may be written"),
	FIELD_U64(struct device_info_row, nonzero_samples, UNIT_COUNT, "samples not zero", .detail = true),
	FIELD_STR(struct device_info_row, write, "how, or why not", .detail = true),
	FIELD_END,
};

/* Without a target: the disks, a line each. */
struct disk_row {
	const char *name, *path, *model, *serial, *kind, *health, *may_write;
	uint64_t size_bytes;
};
static const struct field disk_fields[] = {
	FIELD_STR(struct disk_row, name, "name"),
	FIELD_STR(struct disk_row, path, "path", .detail = true),
	FIELD_STR(struct disk_row, model, "model"),
	FIELD_STR(struct disk_row, serial, "serial number"),
	FIELD_U64(struct disk_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_STR(struct disk_row, kind, "kind"),
	FIELD_STR(struct disk_row, health, "health"),
	FIELD_STR(struct disk_row, may_write, "may be written"),
	FIELD_END,
};

static const struct measure_table info_tables[] = {
	{ "disks", "Disks", disk_fields },
	{ "devices", "Devices", device_info_fields },
	{ "identity", "Identity", info_property_fields },
	{ "sizes", "Sizes", info_property_fields },
	{ "queue", "Queue of the kernel", info_property_fields },
	{ "caches", "Caches", info_property_fields },
	{ "state", "State", info_property_fields },
	{ "partitions", "Partitions", partition_fields },
	{ "signatures", "What is on it", signature_fields },
	{ "users", "Who uses it", user_fields },
	{ NULL, NULL, NULL },
};
static struct table *table(struct session *ses, enum which which)
{
	return result_table(ses->res, info_tables[which].name, info_tables[which].title, info_tables[which].fields);
}

/* What the disk says of its state without being woken. false: it is none that would. */
static bool ask_state(struct session *ses, const struct device *dev, struct device_health *ret)
{
	device_health_clear(ret, "");
	return !ses->common->no_smart && ses->env->devices->health &&
	       ses->env->devices->health(ses->env->devices_ctx, dev, false, ret);
}

/* ---- what is on it, who uses it ---- */

/* What is on it, and what it is, are not uses. */
static bool is_use(const struct finding *f)
{
	return f->kind != FINDING_SIGNATURE && f->kind != FINDING_DATA && f->kind != FINDING_READ_ONLY &&
	       f->kind != FINDING_ZONED && f->kind != FINDING_ALIEN;
}

/* The words of all findings of one sort about `name`, separated by commas. */
static void collect(const struct survey *s, const char *name, bool uses, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->v[i];
		const char *word = f->kind == FINDING_MOUNT ? f->where : uses ? finding_kind_name(f->kind) : f->what;

		if ((uses ? !is_use(f) : f->kind != FINDING_SIGNATURE) || strcmp(f->on, name) != 0)
			continue;
		str_list(buf, len, ", ", "%s", word);
	}
}

static int list_partitions(struct session *ses, const struct device *dev, const struct survey *s, struct err *err)
{
	const struct env *env = ses->env;
	cleanup_free struct device *parts = NULL;
	size_t n = 0;
	int r;

	if (!env->devices->partitions)
		return 0;
	r = env->devices->partitions(env->devices_ctx, dev, &parts, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct partition_row row = { .name = parts[i].name,
			                     .number = parts[i].id.partition,
			                     .offset_bytes = parts[i].partition_offset_bytes,
			                     .size_bytes = parts[i].size_bytes };
		char holds[256], used[256];

		collect(s, parts[i].name, false, holds, sizeof(holds));
		collect(s, parts[i].name, true, used, sizeof(used));
		row.holds = holds[0] ? holds : NULL;
		row.used = used[0] ? used : NULL;
		result_row(table(ses, PARTITIONS), &row);
	}
	return r;
}

static void list_findings(struct session *ses, const struct device *dev, const struct survey *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->v[i];
		const struct finding_row row = { .device = dev->path,
			                         .on = f->on,
			                         .kind = finding_kind_name(f->kind),
			                         .what = f->what[0] ? f->what : NULL,
			                         .where = f->where[0] ? f->where : NULL };

		if (f->kind == FINDING_SIGNATURE)
			result_row(table(ses, SIGNATURES), &row);
		else if (is_use(f))
			result_row(table(ses, USERS), &row);
	}
}

/* "61 of 64" of the finding; UINT64_MAX when it was not looked at */
static uint64_t nonzero_samples(const struct device *dev, const struct survey *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kind == FINDING_DATA)
			return strtoull(s->v[i].what, NULL, 10);
	return dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION ? 0 : UINT64_MAX;
}

static void report_verdict(struct session *ses, const struct device *dev, const struct survey *s)
{
	struct device_info_row row = { .path = dev->path,
		                       .name = dev->name,
		                       .kind = device_kind_name(dev->kind),
		                       .size_bytes = dev->kind == DEVICE_DIRECTORY ? UINT64_MAX : dev->size_bytes,
		                       .nonzero_samples = nonzero_samples(dev, s) };
	char verdict[1024], name[96], label[320];

	row.may_write = !permit_verdict(dev, s, verdict, sizeof(verdict)) ? "no"
	                : dev->kind == DEVICE_DIRECTORY                   ? "own files"
	                : dev->kind == DEVICE_FILE                        ? "yes"
	                                                                  : "with consent";
	row.write = verdict;
	result_row(table(ses, DEVICES), &row);
	if (ses->ndevs == 1) {
		result_figure_text(ses->res, "write", "may be written", verdict);
		return;
	}
	(void)snprintf(name, sizeof(name), "write_%.80s", dev->name);
	(void)snprintf(label, sizeof(label), "%s may be written", dev->path);
	result_figure_text(ses->res, name, label, verdict);
}

/* ---- the measurement ---- */

static int info_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	(void)err;
	ret_plan->keeps_privileges = true; /* to look who uses the device */
	ret_plan->opens_itself = true;
	ret_plan->is_direct = false;
	ret_plan->read_bytes = 0;
	plan_phase(ret_plan, ((const struct info_params *)params)->quick ? "identity" : "identity, users, contents",
	           (ses->ndevs ? ses->ndevs : 1) * NS_PER_S);
	return 0;
}

static int look_at(struct session *ses, const struct device *dev, bool quick, struct err *err)
{
	const struct env *env = ses->env;
	struct survey found = { 0 };
	struct device_health h;
	bool is_asked = ask_state(ses, dev, &h);
	struct err empty = { 0 };
	char text[512];
	int r;

	if (device_check_capacity(dev, &empty) < 0)
		result_notice(ses->res, "no-capacity", "%s", empty.text);
	if (h.is_standby && !quick)
		result_notice(
			ses->res, "standby",
			"%s is in standby; what is on it was not looked at, as that would wake it. Read from it first, "
			"for that.",
			dev->path);
	if (quick || h.is_standby) {
		info_properties(ses, dev, is_asked ? &h : NULL, info_tables);
		return 0;
	}
	r = env->devices->survey(env->devices_ctx, dev, &found, err);
	if (r < 0)
		return r;
	survey_outputs(env->devices, env->devices_ctx, dev, &ses->common->consent.outputs, &found);
	report_verdict(ses, dev, &found);
	info_properties(ses, dev, is_asked ? &h : NULL, info_tables);
	r = list_partitions(ses, dev, &found, err);
	list_findings(ses, dev, &found);
	for (size_t i = 0; r == 0 && i < found.n; i++)
		if (found.v[i].kind == FINDING_DATA)
			result_notice(ses->res, finding_kind_name(found.v[i].kind), "%s",
			              finding_text(&found.v[i], text, sizeof(text)));
	survey_done(&found);
	return r;
}

/* ---- all disks ---- */

static void list_disk(struct session *ses, const struct device *dev, bool quick)
{
	struct disk_row row = { .name = dev->name,
		                .path = dev->path,
		                .model = dev->id.model[0]   ? dev->id.model
		                         : dev->id.alias[0] ? dev->id.alias
		                                            : NULL,
		                .serial = dev->id.serial[0] ? dev->id.serial : NULL,
		                .size_bytes = dev->size_bytes };
	struct survey found = { 0 };
	struct device_health h;
	struct device_row target;
	struct err empty = { 0 };
	char kind[64], verdict[1024];

	if (ask_state(ses, dev, &h))
		row.health = info_health_word(&h);
	(void)snprintf(kind, sizeof(kind), "%s%s", info_transport_name(dev->transport),
	               dev->is_cdrom                                                   ? ", CD or DVD"
	               : device_is_zoned(dev)                                          ? ", shingled"
	               : dev->rotational > 0 && !info_is_guess(dev->transport)         ? ", rotating"
	               : dev->rotational == 0 && !dev->id.below[0] && dev->id.model[0] ? ", solid state"
	                                                                               : "");
	row.kind = kind;
	if (device_check_capacity(dev, &empty) < 0) {
		row.may_write = "no";
		result_notice(ses->res, "no-capacity", "%s", empty.text);
	} else if (!quick && !h.is_standby && ses->env->devices->survey(ses->env->devices_ctx, dev, &found, NULL) == 0)
		row.may_write = permit_verdict(dev, &found, verdict, sizeof(verdict)) ? "with consent" : "no";
	survey_done(&found);
	result_row(table(ses, DISKS), &row);
	device_row(dev, &target);
	result_target(ses->res, &target, device_fields);
}

static int list_all(struct session *ses, bool quick, struct err *err)
{
	cleanup_free struct device *v = NULL;
	size_t n = 0;
	int r = ses->env->devices->list ? ses->env->devices->list(ses->env->devices_ctx, &v, &n, err)
	                                : err_set(err, -EINVAL, "Give the devices to look at.");

	for (size_t i = 0; r == 0 && i < n && !session_is_over(ses); i++) {
		session_progress(ses, v[i].path, (double)i / (double)n, NULL);
		list_disk(ses, &v[i], quick);
	}
	if (r == 0)
		result_figure_u64(ses->res, "disks", "disks", UNIT_COUNT, n);
	return r;
}

/* Of several: how many there are, and how many nobody may write. */
static void count_devices(struct session *ses)
{
	const struct table *t = table(ses, DEVICES);
	size_t refused = 0;

	for (size_t i = 0; i < t->nrows; i++)
		refused += !strcmp(table_string_of(t, i, "may_write"), "no");
	result_figure_u64(ses->res, "devices", "devices", UNIT_COUNT, t->nrows);
	result_figure_u64(ses->res, "writable", "devices that may be written, by name", UNIT_COUNT, t->nrows - refused);
	result_figure_u64(ses->res, "refused", "devices that nobody may write", UNIT_COUNT, refused);
}

static int info_run(struct session *ses, const void *params, struct err *err)
{
	const struct info_params *p = params;
	int r = ses->ndevs ? 0 : list_all(ses, p->quick, err);

	for (size_t i = 0; i < ses->ndevs && r == 0 && !session_is_over(ses); i++) {
		session_progress(ses, ses->devs[i].path, (double)i / (double)ses->ndevs, NULL);
		r = look_at(ses, &ses->devs[i], p->quick, err);
		session_checkpoint(ses);
	}
	if (r == 0 && ses->ndevs > 1)
		count_devices(ses);
	return r;
}

static const struct screen_decl info_screen = {
	.shows = "#disks,#users,#signatures,#partitions,#devices,#state,#identity,#sizes,#caches",
	.says =
		(const struct clause[]){
			{ "May be written: {write}" },
			{ "{disks:disk}" },
			{ "{writable} of {devices:device} may be written, by name", .if_any = "writable" },
			{ "none of {devices:device} may be written", .if_any = "devices", .if_none = "writable" },
			{ "no device was found", .if_none = "devices" },
			{ "who uses it, and whether it may be written, was not looked up (--quick)", .instead_of = 5 },
			{ NULL },
		},
};

const struct measure measure_info = {
	.name = "info",
	.help = "what a device is, what is on it, whether it may be written",
	.group = GROUP_DEVICE,
	.targets = "[DEVICE...]",
	.needs_no_target = true,
	.max_targets = 256,
	.opts = info_opts,
	.params_size = sizeof(struct info_params),
	.plan = info_plan,
	.run = info_run,
	.screen = &info_screen,
	.tables = info_tables,
};
