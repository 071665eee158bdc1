/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of platter-check(8), which a test holds against it. */
#include "verdict/verdict.h"

#define BACKBLAZE "Backblaze 2016: on 77 % of failed drives, 4 % of others"
#define PINHEIRO  "Pinheiro, Weber, Barroso, FAST 2007"

#define CERTAIN "certain"
#define PERHAPS "95 %"
#define LATER   "again in a week"
#define HOURS   "takes at least {read_all_s}"

const struct verdict_rule verdict_rules[] = {
	{ "failing", "smart_failing", VERDICT_REJECT, SIGN_COUNTED, 0, "it reports that it is failing", CERTAIN, NULL,
	  NULL, "the drive's own verdict (ATA, SCSI, NVMe)" },
	{ "unreadable", "unreadable_places", VERDICT_REJECT, SIGN_MEASURED, 0, "{unreadable_places:unreadable place}",
	  CERTAIN, NULL, NULL, PINHEIRO ": 39 times more failures in 60 days" },
	{ "selftest", "smart_selftests_failed", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_selftests_failed:self-test} failed", CERTAIN, NULL, NULL,
	  "the drive's own verdict (ATA, SCSI, NVMe)" },
	{ "wrong", "wrong_data", VERDICT_REJECT, SIGN_MEASURED, 0, "data came back that were not written", CERTAIN,
	  NULL, NULL, "compared block by block" },
	{ "unwritable", "failed_write_bytes", VERDICT_REJECT, SIGN_MEASURED, 0,
	  "{failed_write_bytes} could not be written", CERTAIN, NULL, NULL, "own measurement; no published rate" },
	{ "pending", "smart_pending", VERDICT_REJECT, SIGN_COUNTED, 0, "{smart_pending:sector} pending (SMART 197)",
	  CERTAIN, NULL, NULL, BACKBLAZE },
	{ "reported", "smart_media_errors", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_media_errors:error} reported uncorrectable (SMART 187, NVMe)", CERTAIN, NULL, NULL, BACKBLAZE },
	{ "uncorrectable", "smart_uncorrectable", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_uncorrectable:uncorrectable error} (SMART 198, SCSI)", CERTAIN, NULL, NULL, BACKBLAZE },
	{ "grown", "damage_grown", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{damage_grown:count} of damage rose, now or since an earlier run", CERTAIN, NULL, NULL,
	  PINHEIRO ": 14 to 21 times more failures" },
	{ "faults", "failed_requests", VERDICT_DOUBT, SIGN_MEASURED, 0, "{failed_requests:request} failed", CERTAIN,
	  "surface", HOURS, PINHEIRO ": scan errors; here not confirmed" },
	{ "weak", "weak_places", VERDICT_DOUBT, SIGN_MEASURED, 1,
	  "{weak_places} of {sampled_places} places lost revolutions at each of three readings", "99.9 %", "surface",
	  HOURS, "own measurement; no published rate" },
	{ "always", "always_places", VERDICT_DOUBT, SIGN_MEASURED, 0, "{always_places:place} slow whenever read",
	  "99.9 %", "surface", HOURS, "own measurement; no published rate" },
	{ "slow", "slow_stretches", VERDICT_DOUBT, SIGN_MEASURED, 0,
	  "{slow_stretches:region} slower by a tenth or more", PERHAPS, "surface", HOURS,
	  "own measurement; no published rate" },
	{ "worse", "worse_figures", VERDICT_DOUBT, SIGN_MEASURED, 0, "worse than in earlier runs: {worse_most}",
	  PERHAPS, "check", "with nothing else running", "own measurement; no published rate" },
	{ "stall", "longest_read_ns", VERDICT_DOUBT, SIGN_MEASURED, 5e9, "a random read took {longest_read_ns}",
	  CERTAIN, "transactions --ios=1 --time=10m", NULL, "heads return in 1 s; link resets take 31 s" },
	{ "reallocated", "smart_reallocated", VERDICT_DOUBT, SIGN_COUNTED, 0,
	  "{smart_reallocated:reallocated sector} (SMART 5)", CERTAIN, "check", LATER, BACKBLAZE },
	{ "timeouts", "smart_timeouts", VERDICT_DOUBT, SIGN_COUNTED, 0,
	  "{smart_timeouts:command} timed out (SMART 188)", CERTAIN, "check", LATER, BACKBLAZE },
	{ "worn", "smart_used_percent", VERDICT_DOUBT, SIGN_COUNTED, 99, "{smart_used_percent} % of its endurance used",
	  CERTAIN, NULL, NULL, "NVMe base specification, log 02h" },
	{ "link", "link_below_ratio", VERDICT_DOUBT, SIGN_LINK, 0,
	  "the link runs at {link_at} of its speed: cable or port", CERTAIN, "info", NULL,
	  "SATA: both ends can do more" },
	{ "gone", "device_gone", VERDICT_DOUBT, SIGN_LINK, 0, "it disappeared during the run: disk, cable or power",
	  CERTAIN, "check", "with another cable", "own measurement; no published rate" },
	{ "crc", "crc_grown", VERDICT_DOUBT, SIGN_LINK, 0,
	  "{crc_grown:link error} (CRC) during the run: cable or power", CERTAIN, "check", "with another cable",
	  "smartmontools: not the disk, and only growth counts" },
	{ "little", "too_few_places", VERDICT_DOUBT, SIGN_RUN, 0, "too few random places were read", CERTAIN, "check",
	  NULL, "59 places without a fault: at most 5 % bad (95 %)" },
	{ "uncounted", "counters_unread", VERDICT_KEEP, SIGN_RUN, 0, "its own counters were not read", CERTAIN, "check",
	  "{counters_lack}", BACKBLAZE },
	{ .name = NULL },
};
