/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document while the run goes on, and lines of how far it is. The run makes the text, at a moment of its own; a
 * thread brings it to the disk, for which a file system may take longer than the measured disk for a request.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/cli.h"

struct saver {
	struct outfile *file, *lines; /* each may be NULL */
	/* Ends when all is saved: while a second thread shares the descriptors, a call for a small record takes 4 %
	 * longer. */
	pthread_t thread;
	bool is_started;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t idle;
	bool is_busy, has_news;
	char *text; /* to be saved, the newest; NULL: none */
	char *line; /* to be appended; NULL: none */
	struct err err;
};

static void *save(void *arg)
{
	struct saver *s = arg;

	(void)pthread_mutex_lock(&s->lock);
	while (s->text || s->line) {
		struct err err = { 0 };
		char *text = s->text, *line = s->line;

		s->text = s->line = NULL;
		(void)pthread_mutex_unlock(&s->lock);
		if (line)
			(void)outfile_append(s->lines, line, strlen(line), &err); /* err has it */
		if (text && err.code == 0)
			(void)result_save_text(text, s->file, &err);
		free(line);
		free(text);
		(void)pthread_mutex_lock(&s->lock);
		s->err = err;
		s->has_news = true;
	}
	s->is_busy = false;
	(void)pthread_cond_signal(&s->idle);
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct saver *saver_new(struct outfile *file, struct outfile *lines)
{
	struct saver *s = file || lines ? xcalloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->file = file;
	s->lines = lines;
	(void)pthread_mutex_init(&s->lock, NULL); /* of the default kind: these cannot fail */
	(void)pthread_cond_init(&s->idle, NULL);
	return s;
}

static void end_thread(struct saver *s)
{
	if (s->is_started)
		(void)pthread_join(s->thread, NULL); /* of our own thread: cannot fail */
	s->is_started = false;
}

/* Hands *slot a text, which it owns. The thread begins with what the run has given up its privileges to. */
static void hand_over(struct saver *s, char **slot, char *text)
{
	bool is_busy;

	(void)pthread_mutex_lock(&s->lock);
	free(*slot);
	*slot = text;
	is_busy = s->is_busy;
	s->is_busy = true;
	(void)pthread_mutex_unlock(&s->lock);
	if (is_busy)
		return;
	end_thread(s);
	s->is_started = host_thread(&s->thread, save, s) == 0;
	if (!s->is_started)
		s->is_busy = false; /* nobody else is there; the end saves it */
}

void saver_put(struct saver *s, const struct result *res)
{
	char *text = s && s->file ? result_to_json(res) : NULL;

	if (text)
		hand_over(s, &s->text, text);
}

void saver_append(struct saver *s, char *line)
{
	if (s && s->lines && line)
		hand_over(s, &s->line, line);
	else
		free(line);
}

bool saver_news(struct saver *s, struct err *ret)
{
	bool has_news;

	if (!s)
		return false;
	(void)pthread_mutex_lock(&s->lock);
	has_news = s->has_news;
	s->has_news = false;
	*ret = s->err;
	(void)pthread_mutex_unlock(&s->lock);
	return has_news;
}

void saver_rest(struct saver *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&s->lock);
	while (s->is_busy)
		(void)pthread_cond_wait(&s->idle, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
}

void saver_free(struct saver *s)
{
	if (!s)
		return;
	end_thread(s);
	(void)pthread_cond_destroy(&s->idle);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->text);
	free(s->line);
	free(s);
}
