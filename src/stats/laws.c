/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Laws: what zero events mean, shares, the operational laws of Denning and Buzen (1978), and whether two figures
 * differ.
 */
#include "stats/stats.h"

#include <math.h>

double law_rule_of_three(double t)
{
	return t > 0 ? 2.995732273553991 / t : (double)NAN; /* -log 5 % */
}

double law_little(double throughput, double response)
{
	return throughput * response;
}

double law_interactive_n(double throughput, double response, double z)
{
	return throughput * (response + z);
}

double law_utilisation(double throughput, double service)
{
	return throughput * service;
}

double law_knee_users(double d, double d_max, double z)
{
	return (d + z) / d_max;
}
