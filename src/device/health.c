/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a disk says of itself, by smartctl (smartmontools) where it is installed: it knows the pages of ATA, SCSI and
 * NVMe, and the bridges between. It is a program of its own, started without a shell, with nothing but a pipe, and
 * ended when it takes too long. It gets the node that udev does not watch (sgN, the NVMe controller), where there is
 * one: else its opening would make udev read the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "device/inside.h"

#define SMARTCTL_MS  10000
#define ANSWER_BYTES (1u << 20)
#define TIMEOUT_MS   10000 /* of a command */
#define NVME_TOO_HOT 2ull  /* the bit of critical_warning: too hot, or too cold */

/* ---- the program ---- */

static const char *find_smartctl(const char *root, char *buf, size_t len)
{
	static const char *const places[] = { "/usr/sbin", "/usr/local/sbin", "/usr/bin", "/sbin",
		                              "/run/current-system/sw/bin" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		(void)snprintf(buf, len, "%s%s/smartctl", root, places[i]);
		if (access(buf, X_OK) == 0)
			return buf;
	}
	return NULL;
}

/* All that comes within the time, as text to free(); NULL: nothing whole. */
static char *read_answer(int fd)
{
	uint64_t until_ns = clock_now_ns(clock_monotonic()) + SMARTCTL_MS * NS_PER_MS, now_ns;
	char *text = malloc(ANSWER_BYTES + 1);
	size_t at = 0;

	while (text && at < ANSWER_BYTES && (now_ns = clock_now_ns(clock_monotonic())) < until_ns) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int ready = poll(&p, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
		ssize_t n = ready > 0 ? read(fd, text + at, ANSWER_BYTES - at) : 0;

		if (ready == 0 || ((ready < 0 || n < 0) && errno != EINTR))
			break;
		if (ready > 0 && n == 0) {
			text[at] = '\0';
			return text;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	free(text);
	return NULL;
}

/* It may hang in the kernel with the disk, and then cannot be waited for. */
static void reap(pid_t pid, bool is_done)
{
	if (!is_done)
		(void)kill(pid, SIGKILL);
	for (int i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		clock_pause(10 * NS_PER_MS);
}

static char *ask_smartctl(const char *program, const char *node, bool may_wake)
{
	const char *const argv[] = { program,
		                     "--json=c",
		                     "-i",
		                     "-H",
		                     "-A",
		                     "-l",
		                     "error",
		                     "-l",
		                     "selftest",
		                     "-l",
		                     "defects",
		                     "-n",
		                     may_wake ? "never" : "standby",
		                     node,
		                     NULL };
	char *const env[] = { (char[]){ "LC_ALL=C" }, NULL };
	posix_spawn_file_actions_t io;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int fds[2], r;
	char *text = NULL;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return NULL;
	(void)posix_spawn_file_actions_init(&io); /* these fail for lack of memory only, and posix_spawn then, too */
	(void)posix_spawn_file_actions_addopen(&io, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&io, fds[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_addopen(&io, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawnattr_init(&attr);
	(void)sigemptyset(&none);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setpgroup(&attr, 0); /* Ctrl-C is ours */
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = posix_spawn(&pid, program, &io, &attr, (char *const *)(uintptr_t)argv, env);
	(void)posix_spawn_file_actions_destroy(&io);
	(void)posix_spawnattr_destroy(&attr);
	(void)close(fds[1]);
	if (r == 0) {
		text = read_answer(fds[0]);
		reap(pid, text != NULL);
	}
	(void)close(fds[0]);
	return text;
}

/* ---- its answer ---- */

static uint64_t count_of(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v) : UINT64_MAX;
}

/* What stands at "a/b/c"; NULL: nothing. */
static const json_t *at(const json_t *v, const char *path)
{
	char name[64];

	while (v && *path) {
		size_t n = strcspn(path, "/");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, path);
		v = json_object_get(v, name);
		path += n + (path[n] == '/');
	}
	return v;
}

/* Raw values of some makers hold more than the count, which smartctl's text has first: "12 (0 3)". */
static uint64_t raw_of(const json_t *attribute)
{
	const char *text = json_string_value(at(attribute, "raw/string"));
	char *end;
	uint64_t v;

	errno = 0;
	if (!text || text[0] < '0' || text[0] > '9')
		return count_of(at(attribute, "raw/value"));
	v = strtoull(text, &end, 10);
	return errno == 0 && (*end == '\0' || *end == ' ') ? v : count_of(at(attribute, "raw/value"));
}

/* Some drives pack several counters of 16 bits into it (smartmontools' drive database): the largest of them. */
static uint64_t largest_word(uint64_t raw)
{
	uint64_t most = 0;

	for (unsigned shift = 0; raw != UINT64_MAX && shift < 48; shift += 16)
		most = (raw >> shift & 0xffff) > most ? raw >> shift & 0xffff : most;
	return raw == UINT64_MAX ? raw : most;
}

static void add_suspect(struct device_health *h, const json_t *lba, uint32_t block_bytes)
{
	uint64_t at = count_of(lba);

	if (at < UINT64_MAX / 4096 && block_bytes && h->nsuspects < DEVICE_SUSPECTS_MAX)
		h->suspects[h->nsuspects++] = at * block_bytes;
}

/* Places that its logs name: pending defects, uncorrectable errors (bit 6 of the error register), failed self-tests. */
static void take_places(const json_t *all, uint32_t block_bytes, struct device_health *h)
{
	static const char *const lists[] = { "ata_pending_defects_log/table", "scsi_pending_defects/table" };
	const json_t *errors = at(all, "ata_smart_error_log/summary/table");

	for (size_t k = 0; k < ARRAY_LEN(lists); k++)
		for (size_t i = 0; i < json_array_size(at(all, lists[k])); i++)
			add_suspect(h, at(json_array_get(at(all, lists[k]), i), "lba"), block_bytes);
	for (size_t i = 0; i < json_array_size(errors); i++) {
		const json_t *end = at(json_array_get(errors, i), "completion_registers");

		if (json_integer_value(at(end, "error")) & 0x40)
			add_suspect(h, at(end, "lba"), block_bytes);
	}
}

/* ATA and NVMe keep a table; of SCSI each test has a member of its own. Old failures count until a test went well. */
static void take_selftests(const json_t *all, uint32_t block_bytes, struct device_health *h)
{
	const json_t *ata = at(all, "ata_smart_self_test_log/standard"), *nvme = at(all, "nvme_self_test_log/table");
	const json_t *rows = at(ata, "table");
	uint64_t failed = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		add_suspect(h, at(json_array_get(rows, i), "lba"), block_bytes);
	for (size_t i = 0; i < json_array_size(nvme); i++) { /* results 5 to 7: NVMe base specification, 5.16.1.7 */
		json_int_t code = json_integer_value(at(json_array_get(nvme, i), "self_test_result/value"));

		failed += code >= 5 && code <= 7;
		if (code >= 5 && code <= 7)
			add_suspect(h, at(json_array_get(nvme, i), "lba"), block_bytes);
	}
	for (int i = 0; i < 20; i++) { /* results 3 to 7: SPC, self-test results log page */
		char path[64];
		json_int_t code;

		(void)snprintf(path, sizeof(path), "scsi_self_test_%d/result/value", i);
		code = json_integer_value(at(all, path));
		failed += code >= 3 && code <= 7;
	}
	if (ata)
		failed = (uint64_t)(json_integer_value(at(ata, "error_count_total")) -
		                    json_integer_value(at(ata, "error_count_outdated")));
	if (ata || nvme || at(all, "scsi_self_test_0"))
		h->selftests_failed = failed;
}

static void take_ata(const json_t *all, struct device_health *h)
{
	const struct {
		json_int_t id; /* usual ones; no standard has them */
		uint64_t *to;
	} known[] = { { 5, &h->reallocated }, { 187, &h->media_errors },  { 188, &h->timeouts },
		      { 197, &h->pending },   { 198, &h->uncorrectable }, { 199, &h->crc_errors } };
	const json_t *rows = at(all, "ata_smart_attributes/table");

	for (size_t i = 0; i < json_array_size(rows); i++)
		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			if (json_integer_value(at(json_array_get(rows, i), "id")) == known[k].id)
				*known[k].to = raw_of(json_array_get(rows, i));
	h->timeouts = largest_word(h->timeouts);
}

static void take_scsi(const json_t *all, struct device_health *h)
{
	static const char *const ways[] = { "read", "write", "verify" };

	h->reallocated = count_of(at(all, "scsi_grown_defect_list"));
	h->pending = count_of(at(all, "scsi_pending_defects/count"));
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		char path[96];
		uint64_t n;

		(void)snprintf(path, sizeof(path), "scsi_error_counter_log/%s/total_uncorrected_errors", ways[i]);
		n = count_of(at(all, path));
		if (n != UINT64_MAX)
			h->uncorrectable = h->uncorrectable == UINT64_MAX ? n : h->uncorrectable + n;
	}
}

static bool says_standby(const json_t *all)
{
	const json_t *said = at(all, "smartctl/messages");

	for (size_t i = 0; i < json_array_size(said); i++) {
		const char *text = json_string_value(at(json_array_get(said, i), "string"));

		if (text && (strstr(text, "STANDBY mode") || strstr(text, "SLEEP mode")))
			return true;
	}
	return false;
}

static void take_nvme(const json_t *log, struct device_health *h)
{
	uint64_t spare = count_of(at(log, "available_spare")), least = count_of(at(log, "available_spare_threshold"));

	h->media_errors = count_of(at(log, "media_errors"));
	h->used_percent = count_of(at(log, "percentage_used"));
	h->warnings = count_of(at(log, "critical_warning"));
	if (h->warnings != UINT64_MAX) { /* heat passes, and smartctl calls it a failure */
		h->warnings &= ~NVME_TOO_HOT;
		h->passed = h->warnings == 0;
	}
	if (spare != UINT64_MAX && least != UINT64_MAX)
		h->spare_below = spare < least;
}

static void take(const json_t *all, uint32_t block_bytes, struct device_health *h)
{
	const json_t *passed = at(all, "smart_status/passed"), *celsius = at(all, "temperature/current");
	const json_t *nvme = at(all, "nvme_smart_health_information_log");

	text_copy(h->model, sizeof(h->model), json_string_value(at(all, "model_name")) ?: "");
	text_copy(h->serial, sizeof(h->serial), json_string_value(at(all, "serial_number")) ?: "");
	h->size_bytes = count_of(at(all, "user_capacity/bytes"));
	h->size_bytes = h->size_bytes == UINT64_MAX ? 0 : h->size_bytes;
	h->passed = json_is_boolean(passed) ? json_is_true(passed) : -1;
	h->celsius = json_is_integer(celsius) ? (double)json_integer_value(celsius) : (double)NAN;
	h->power_on_hours = count_of(at(all, "power_on_time/hours"));
	take_ata(all, h);
	if (at(all, "scsi_grown_defect_list") || at(all, "scsi_error_counter_log"))
		take_scsi(all, h);
	if (nvme)
		take_nvme(nvme, h);
	take_selftests(all, block_bytes, h);
	take_places(all, block_bytes, h);
}

static bool is_nothing_reported(const struct device_health *h)
{
	return h->passed < 0 && isnan(h->celsius) &&
	       (h->power_on_hours & h->reallocated & h->pending & h->uncorrectable & h->crc_errors & h->media_errors) ==
	               UINT64_MAX;
}

static void take_answer(const char *text, uint32_t block_bytes, struct device_health *h)
{
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	const char *said = json_string_value(at(json_array_get(at(all, "smartctl/messages"), 0), "string"));
	char why[sizeof(h->why_not)] = "";

	if (!text)
		(void)snprintf(why, sizeof(why), "smartctl gave no answer in %d s", SMARTCTL_MS / 1000);
	else if (!all)
		text_copy(why, sizeof(why), "smartctl's answer is not JSON; install version 7 or newer");
	else if (says_standby(all)) {
		h->is_standby = true;
		text_copy(why, sizeof(why), HEALTH_ASLEEP);
	} else
		take(all, block_bytes, h);
	if (!why[0] && is_nothing_reported(h))
		(void)snprintf(why, sizeof(why), "smartctl learns nothing from this disk%s%.100s", said ? ": " : "",
		               said ? said : "");
	text_clean(h->why_not, sizeof(h->why_not), why, strlen(why));
	json_decref(all);
}

/* ---- which node ---- */

static void find_node(const char *root, const char *dir, const struct device *dev, char *buf, size_t len)
{
	cleanup_list struct sys_list names = sys_list(root, "%s/device/scsi_generic", dir);
	char other[256] = "";

	if (names.n == 1)
		(void)snprintf(other, sizeof(other), "/dev/%.200s", names.v[0]);
	else if (strcmp(dev->transport, "nvme") == 0 && strncmp(dev->disk, "nvme", 4) == 0)
		(void)snprintf(other, sizeof(other), "/dev/nvme%lu", strtoul(dev->disk + 4, NULL, 10));
	sys_node(dev->disk, buf, len);
	if (other[0] && (!sysroot_is_real(root) || access(other, F_OK) == 0))
		text_copy(buf, len, other);
}

bool health_read(const char *root, const char *dir, const struct device *dev, bool may_wake, struct device_health *ret)
{
	char program[PATH_MAX], node[256];
	cleanup_free char *text = NULL;

	device_health_clear(ret, "not asked");
	/* Disks of their own, not what is made of some, and not what a hypervisor shows. */
	if (!dir[0] || dev->is_cdrom || !str_is_one_of(dev->transport, "ata sas scsi nvme usb fc"))
		return false;
	device_health_clear(ret, "");
	if (!find_smartctl(root, program, sizeof(program))) {
		text_copy(ret->why_not, sizeof(ret->why_not), "smartctl (smartmontools) is not installed");
		return true;
	}
	find_node(root, dir, dev, node, sizeof(node));
	text = ask_smartctl(program, node, may_wake);
	take_answer(text, dev->logical_block_bytes, ret);
	return true;
}

/*
 * ---- commands to the drive itself, none of which changes it. ATA: CHECK POWER MODE. READ NATIVE MAX ADDRESS EXT
 * (ATA8-ACS 7.33, word 82 bit 10); GET NATIVE MAX ADDRESS EXT (ACS-4 7.2.2, word 119 bit 8). All by ATA
 * PASS-THROUGH(16) (SAT-4 12.2). SCSI: REQUEST SENSE. ----
 */

enum {
	ATA_IDENTIFY = 0xec,
	ATA_CHECK_POWER = 0xe5,
	ATA_READ_NATIVE_MAX = 0x27,
	ATA_GET_NATIVE_MAX = 0x78,
};

/* Data is read, or, with NULL, the sense shows what the registers hold. */
static int ata(const struct drive *d, uint8_t command, uint8_t *data, struct scsi_command *ret)
{
	const uint8_t cdb[16] = { 0x85, data ? 4 << 1 : 3 << 1, /* PIO data-in, or none */
		                  data ? 0x0e : 0x20, [6] = data != NULL, [14] = command };

	*ret = (struct scsi_command){ .cdb = cdb,
		                      .cdb_len = sizeof(cdb),
		                      .way = data ? SCSI_IN : SCSI_NOTHING,
		                      .data = data,
		                      .len = data ? 512 : 0,
		                      .timeout_ms = TIMEOUT_MS };
	return scsi_ask(d->ask, d->fd, ret);
}

static const char *ata_power(const struct drive *d)
{
	struct scsi_command c;
	uint8_t count;

	if (ata(d, ATA_CHECK_POWER, NULL, &c) < 0 || c.sense_len < 8)
		return "";
	if ((c.sense[0] & 0x7f) == 0x72 && c.sense_len >= 22 && c.sense[8] == 0x09)
		count = c.sense[13];
	else if ((c.sense[0] & 0x7f) == 0x70)
		count = c.sense[6]; /* fixed format: error, status, device, count */
	else
		return "";
	return count == 0xff || (count & 0xf0) == 0x40 ? "active"
	       : count >= 0x80 && count <= 0x83        ? "idle"
	       : count <= 1                            ? "standby"
	                                               : "";
}

static uint64_t ata_native(const struct drive *d)
{
	uint8_t id[512] = { 0 }, cdb[16] = { 0x85, 3 << 1 | 1, 0x20, [13] = 0x40 };
	struct scsi_command c;
	const uint8_t *s = c.sense;

	if (ata(d, ATA_IDENTIFY, id, &c) < 0 || (id[167] & 0xc4) != 0x44) /* word 83: addresses of 48 bits */
		return 0;
	if ((id[239] & 0xc0) == 0x40 && id[239] & 1)
		cdb[14] = ATA_GET_NATIVE_MAX;
	else if (id[165] & 4)
		cdb[14] = ATA_READ_NATIVE_MAX;
	else
		return 0;
	c = (struct scsi_command){ .cdb = cdb, .cdb_len = 16, .way = SCSI_NOTHING, .timeout_ms = TIMEOUT_MS };
	if (scsi_ask(d->ask, d->fd, &c) < 0 || c.sense_len < 22 || (s[0] & 0x7f) != 0x72 || s[8] != 0x09 ||
	    s[21] & 1) /* only this format has all of the address; an error */
		return 0;
	return 1 + ((uint64_t)s[18] << 40 | (uint64_t)s[16] << 32 | (uint64_t)s[14] << 24 | (uint64_t)s[19] << 16 |
	            (uint64_t)s[17] << 8 | s[15]);
}

uint64_t drive_native_sectors(const struct drive *d)
{
	return d->way == DRIVE_ATA ? ata_native(d) : 0;
}

static const char *scsi_power(const struct drive *d)
{
	static const uint8_t cdb[6] = { 0x03, [4] = 32 };
	uint8_t answer[32], code, more;

	if (scsi_fetch(d->ask, d->fd, cdb, answer, sizeof(answer)) < 14)
		return "";
	code = (answer[0] & 0x7f) >= 0x72 ? answer[2] : answer[12];
	more = (answer[0] & 0x7f) >= 0x72 ? answer[3] : answer[13];
	if (code == 0x5e) /* low power condition: 02h, 04h standby_z, 09h, 0Ah standby_y; the rest is idle */
		return more == 2 || more == 4 || more == 9 || more == 10 ? "standby" : "idle";
	return code == 4 ? "stopped" : "active";
}

enum drive_way drive_way(const struct device *dev, bool has_scsi)
{
	if (dev->is_cdrom || !has_scsi || strcmp(dev->transport, "usb") == 0)
		return DRIVE_NO_WAY;
	return strcmp(dev->transport, "ata") == 0 ? DRIVE_ATA : DRIVE_SCSI;
}

const char *drive_power(const struct drive *d)
{
	return d->way == DRIVE_ATA ? ata_power(d) : d->way == DRIVE_SCSI ? scsi_power(d) : "";
}
