/* SPDX-License-Identifier: MIT */
/*
 * peer_boost.cc - Boost.Interprocess's message_queue as a peer
 *
 * Usage: sysfive-peer-boost pair SECONDS.  Prints the pairs of send and
 * receive done and the seconds that they took.  The queue's name is removed as
 * soon as it is open.
 */
#include <boost/interprocess/ipc/message_queue.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <unistd.h>

using boost::interprocess::message_queue;

static const std::size_t text_size = 64;
static const std::size_t queue_length = 256;

static double seconds_now()
{
	using clock = std::chrono::steady_clock;

	return std::chrono::duration<double>(clock::now().time_since_epoch())
		.count();
}

/* Runs for the given time and a little more; returns the pairs done. */
static unsigned long long run_pairs(message_queue &queue, double seconds,
				    double &ret_seconds)
{
	const unsigned long batch = 1000;
	char text[text_size] = "a message";
	message_queue::size_type size;
	unsigned int priority;
	unsigned long long pairs = 0;
	const double start = seconds_now();

	do {
		for (unsigned long i = 0; i < batch; i++) {
			queue.send(text, text_size, 0);
			queue.receive(text, text_size, size, priority);
		}
		pairs += batch;
		ret_seconds = seconds_now() - start;
	} while (ret_seconds < seconds);
	return pairs;
}

static int measure(double seconds)
{
	const std::string name = "sysfive-peer-" + std::to_string(getpid());
	message_queue queue(boost::interprocess::create_only, name.c_str(),
			    queue_length, text_size);
	double took = 0;

	message_queue::remove(name.c_str());
	run_pairs(queue, seconds / 8, took);
	const unsigned long long pairs = run_pairs(queue, seconds, took);
	std::printf("%llu %.9f\n", pairs, took);
	return std::fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 3 || std::strcmp(argv[1], "pair") != 0) {
		std::fprintf(stderr, "usage: %s pair SECONDS\n", argv[0]);
		return 2;
	}
	try {
		return measure(std::atof(argv[2]));
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
}
