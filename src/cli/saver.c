/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document while the run goes on. The run makes its text, at a moment of its own; a thread brings that to the disk,
 * for which a file system may take longer than the disk that is measured takes for a request.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cli/cli.h"

struct saver {
	struct outfile *file;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t work, idle;
	bool is_running, is_busy, is_over, has_news;
	char *text; /* to be saved, the newest; NULL: none */
	struct err err;
};

static void *save(void *arg)
{
	struct saver *s = arg;

	(void)pthread_mutex_lock(&s->lock);
	while (s->text || !s->is_over) {
		struct err err = { 0 };
		char *text = s->text;

		s->is_busy = text != NULL;
		if (!text) {
			(void)pthread_cond_signal(&s->idle);
			(void)pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		s->text = NULL;
		(void)pthread_mutex_unlock(&s->lock);
		(void)result_save_text(text, s->file, &err); /* err tells */
		free(text);
		(void)pthread_mutex_lock(&s->lock);
		s->err = err;
		s->has_news = true;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct saver *saver_new(struct outfile *file)
{
	struct saver *s = file ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->file = file;
	(void)pthread_mutex_init(&s->lock, NULL); /* of the default kind: these cannot fail */
	(void)pthread_cond_init(&s->work, NULL);
	(void)pthread_cond_init(&s->idle, NULL);
	return s;
}

/* The thread begins with what the run has given up its privileges to. */
void saver_put(struct saver *s, const struct result *res)
{
	char *text = s ? result_to_json(res) : NULL;

	if (!text)
		return;
	if (!s->is_running)
		s->is_running = host_thread(&s->thread, save, s) == 0;
	if (!s->is_running) {
		free(text); /* the end saves it */
		return;
	}
	(void)pthread_mutex_lock(&s->lock);
	free(s->text);
	s->text = text;
	s->is_busy = true;
	(void)pthread_cond_signal(&s->work);
	(void)pthread_mutex_unlock(&s->lock);
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
	if (!s || !s->is_running)
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
	if (s->is_running) {
		(void)pthread_mutex_lock(&s->lock);
		s->is_over = true;
		(void)pthread_cond_signal(&s->work);
		(void)pthread_mutex_unlock(&s->lock);
		(void)pthread_join(s->thread, NULL); /* of our own thread: cannot fail */
	}
	(void)pthread_cond_destroy(&s->work);
	(void)pthread_cond_destroy(&s->idle);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->text);
	free(s);
}
