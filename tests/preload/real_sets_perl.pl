#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# real_sets_perl.pl - makers put numbers into a file of few places, takers take
# them out; a set of three semaphores counts places free and full and guards
# the file.  Each is a program of its own that finds the set by its key.

use strict;
use warnings;
use Errno qw(EAGAIN EEXIST EIDRM EINVAL ERANGE EFBIG);
use Fcntl qw(SEEK_SET);
use IPC::Semaphore;
use IPC::SysV qw(IPC_CREAT IPC_EXCL IPC_NOWAIT SEM_UNDO);

use constant {
	MAKERS => 3,
	TAKERS => 3,
	EACH   => 2000,
	PLACES => 8,
	FREE   => 0,
	FULL   => 1,
	GUARD  => 2,
};

my ($role, $key, $file, $number) = @ARGV;
$role //= 'parent';

sub set {
	return IPC::Semaphore->new($key, 3, 0) // die "semget: $!\n";
}

# The store: how many are in it, then their numbers.
sub load {
	my ($handle) = @_;
	sysseek $handle, 0, SEEK_SET or die "seek: $!\n";
	sysread $handle, my $text, 4 * (PLACES + 1);
	my ($count, @items) = unpack 'l*', $text;
	die "$count items\n" if $count < 0 || $count > PLACES;
	return @items[0 .. $count - 1];
}

sub store {
	my ($handle, @items) = @_;
	sysseek $handle, 0, SEEK_SET or die "seek: $!\n";
	syswrite $handle, pack 'l*', scalar @items, @items;
	return;
}

# One call takes the place and the guard; one gives both back.
sub maker {
	my $set = set();
	open my $handle, '+<', $file or die "$file: $!\n";
	for my $n (1 .. EACH) {
		$set->op(FREE, -1, 0, GUARD, -1, SEM_UNDO) or die "op: $!\n";
		store($handle, load($handle), $number * EACH + $n);
		$set->op(GUARD, 1, SEM_UNDO, FULL, 1, 0) or die "op: $!\n";
	}
	return;
}

sub taker {
	my $set = set();
	open my $handle, '+<', $file or die "$file: $!\n";
	my ($sum, %last) = (0);
	while (1) {
		$set->op(FULL, -1, 0, GUARD, -1, SEM_UNDO) or die "op: $!\n";
		my ($first, @rest) = load($handle);
		store($handle, @rest);
		$set->op(GUARD, 1, SEM_UNDO, FREE, 1, 0) or die "op: $!\n";
		last if $first == 0;
		my $maker = int(($first - 1) / EACH);
		die "out of order\n" if ($last{$maker} // 0) >= $first;
		$last{$maker} = $first;
		$sum += $first;
	}
	open my $out, '>', "$file.$number" or die "$file.$number: $!\n";
	print {$out} $sum;
	close $out or die "close: $!\n";
	return;
}

# Takes the guard and is killed with it.
sub robber {
	my $set = set();
	$set->op(GUARD, -1, SEM_UNDO) or die "op: $!\n";
	kill 'KILL', $$;
	return;
}

sub start {
	my @argv = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		exec $^X, $0, @argv or die "exec: $!\n";
	}
	return $pid;
}

sub finish {
	my ($pid) = @_;
	waitpid $pid, 0;
	die "process $pid ended with $?\n" if $?;
	return;
}

sub check_calls {
	my ($set) = @_;

	$set->setall(3, 2, 1) or die "setall: $!\n";
	die "getall\n" if join(' ', $set->getall) ne '3 2 1';
	die "getpid\n" if $set->getpid(1) != $$;
	die "no EAGAIN\n" if $set->op(0, -4, IPC_NOWAIT) || !$!{EAGAIN};
	die "no ERANGE\n" if $set->op(0, 32767, 0) || !$!{ERANGE};
	die "no EFBIG\n" if $set->op(3, 1, 0) || !$!{EFBIG};
	$set->op(0, -3, 0, 0, 0, 0, 1, -2, 0, 2, 4, 0) or die "op: $!\n";
	die "values\n" if join(' ', $set->getall) ne '0 0 5';
	$set->setval(2, 7) or die "setval: $!\n";
	die "getval\n" if $set->getval(2) != 7;
	my $stat = $set->stat or die "stat: $!\n";
	die "stat\n" if $stat->nsems != 3 || ($stat->mode & oct 777) != oct 600;
	die "times\n" if !$stat->otime || !$stat->ctime;

	# Somebody who waits is counted, and served.
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		exit($set->op(0, -2, 0, 1, -1, 0) ? 0 : 1);
	}
	select undef, undef, undef, 0.01 while $set->getncnt(0) != 1;
	$set->op(0, 2, 0) or die "op: $!\n";
	die "counts\n" if $set->getncnt(0) != 0 || $set->getncnt(1) != 1;
	$set->op(1, 1, 0) or die "op: $!\n";
	die "served\n" if $set->getval(0) || $set->getpid(0) != $pid;
	finish($pid);
	return;
}

sub parent {
	my $set;
	for my $try (1 .. 100) {
		$key = 0x53370000 + ($$ * 7 + $try) % 65536;
		$set = IPC::Semaphore->new($key, 3, IPC_CREAT | IPC_EXCL | 0600);
		last if $set;
	}
	die "semget: $!\n" if !$set;
	$file = ($ENV{SYSFIVE_DIR} // '/tmp') . "/store.$$";
	eval {
		check_calls($set);
		die "no EEXIST\n"
			if IPC::Semaphore->new($key, 3, IPC_CREAT | IPC_EXCL | 0600)
			|| !$!{EEXIST};

		open my $handle, '>', $file or die "$file: $!\n";
		store($handle);
		$set->setall(PLACES, 0, 1) or die "setall: $!\n";
		my @makers = map { start('maker', $key, $file, $_) } 1 .. MAKERS;
		my @takers = map { start('taker', $key, $file, $_) } 1 .. TAKERS;
		for (1 .. 20) {
			my $robber = start('robber', $key);
			waitpid $robber, 0;
			die "robber ended with $?\n" if $? != 9;
		}
		finish($_) for @makers;
		# A zero ends a taker.
		open $handle, '+<', $file or die "$file: $!\n";
		for (1 .. TAKERS) {
			$set->op(FREE, -1, 0, GUARD, -1, SEM_UNDO) or die "op: $!\n";
			store($handle, load($handle), 0);
			$set->op(GUARD, 1, SEM_UNDO, FULL, 1, 0) or die "op: $!\n";
		}
		finish($_) for @takers;
		die 'left: ' . join(' ', $set->getall) . "\n"
			if join(' ', $set->getall) ne PLACES . ' 0 1';
		my $sum = 0;
		for (1 .. TAKERS) {
			open my $in, '<', "$file.$_" or die "$file.$_: $!\n";
			$sum += <$in>;
		}
		my $want = 0;
		for my $maker (1 .. MAKERS) {
			$want += $maker * EACH + $_ for 1 .. EACH;
		}
		die "sum $sum, not $want\n" if $sum != $want;

		my $sleeper = fork // die "fork: $!\n";
		if (!$sleeper) {
			exit(!$set->op(FULL, -1, 0) && $!{EIDRM} ? 0 : 1);
		}
		select undef, undef, undef, 0.01 while $set->getncnt(FULL) != 1;
		$set->remove or die "remove: $!\n";
		finish($sleeper);
		1;
	} or do {
		my $why = $@;
		$set->remove;
		die $why;
	};
	die "removed, and is still there\n" if IPC::Semaphore->new($key, 3, 0);
	return;
}

my %roles = (
	parent => \&parent,
	maker  => \&maker,
	taker  => \&taker,
	robber => \&robber,
);
$roles{$role}->();
