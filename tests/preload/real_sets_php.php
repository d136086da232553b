<?php
// SPDX-License-Identifier: MIT
//
// real_sets_php.php - processes that count in a file, each in its turn; some
// are killed in theirs.

declare(strict_types=1);

const CLERKS = 4;
const ROUNDS = 1500;
const AT_ONCE = 2; // who may hold the second semaphore

set_error_handler(function (int $level, string $text): bool {
	if (error_reporting() & $level)
		throw new RuntimeException($text);
	return true;
});

function must(bool $is_true, string $what): void
{
	if (!$is_true)
		throw new RuntimeException($what);
}

// Unguarded this loses counts.
function count_one(string $file): int
{
	$n = (int)file_get_contents($file) + 1;
	file_put_contents($file, (string)$n);
	return $n;
}

function clerk(int $key, string $file): void
{
	$guard = sem_get($key, 1, 0600, true);
	$room = sem_get($key + 1, AT_ONCE, 0600, true);
	for ($i = 0; $i < ROUNDS; $i++) {
		must(sem_acquire($room), 'acquire room');
		must(sem_acquire($guard), 'acquire');
		count_one($file);
		must(sem_release($guard), 'release');
		must(sem_release($room), 'release room');
		if ($i % 100 != 99)
			continue;
		// Not twice by the same.
		must(sem_acquire($guard), 'acquire');
		must(!@sem_acquire($guard, true), 'acquired twice');
		must(sem_release($guard), 'release');
	}
	// The end of the process gives it back.
	must(sem_acquire($room), 'acquire room');
}

// Ends with both held.
function robber(int $key): void
{
	must(sem_acquire(sem_get($key + 1, AT_ONCE, 0600, true)), 'room');
	must(sem_acquire(sem_get($key, 1, 0600, true)), 'guard');
	proc_open(['/bin/kill', '-KILL', (string)getmypid()], [], $pipes);
	while (true)
		sleep(1);
}

function start(string ...$args)
{
	return proc_open([PHP_BINARY, __FILE__, ...$args], [], $pipes);
}

function office(int $key): void
{
	$file = tempnam(getenv('SYSFIVE_DIR') ?: '/tmp', 'count');
	file_put_contents($file, '0');
	$guard = sem_get($key, 1, 0600, true);
	$room = sem_get($key + 1, AT_ONCE, 0600, true);
	try {
		must($guard !== false && $room !== false, 'sem_get');
		$clerks = [];
		for ($i = 0; $i < CLERKS; $i++)
			$clerks[] = start('clerk', (string)$key, $file);
		for ($i = 0; $i < 5; $i++) {
			$robber = start('robber', (string)$key);
			while (($status = proc_get_status($robber))['running'])
				usleep(2000);
			must($status['signaled'] && $status['termsig'] == 9,
				'the robber ended by itself');
		}
		foreach ($clerks as $clerk)
			must(proc_close($clerk) == 0, 'a clerk failed');
		must((int)file_get_contents($file) == CLERKS * ROUNDS,
			'counted ' . file_get_contents($file));
		must(sem_acquire($guard, true), 'free at last');
		must(sem_release($guard), 'release');
		must(!@sem_release($guard), 'released twice');
	} finally {
		sem_remove($guard);
		sem_remove($room);
		unlink($file);
	}
	must(!@sem_acquire($guard), 'removed, and is still there');
}

try {
	if ($argc < 2)
		office(0x53380000 + (getmypid() * 2) % 65536);
	elseif ($argv[1] == 'clerk')
		clerk((int)$argv[2], $argv[3]);
	else
		robber((int)$argv[2]);
} catch (RuntimeException $e) {
	fwrite(STDERR, $e->getMessage() . "\n");
	exit(1);
}
