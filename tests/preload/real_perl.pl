#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# real_perl.pl - a server takes jobs in order of urgency and answers each
# client by the type that is its process id.  Server and clients are programs
# of their own that find the queue by its key.

use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use Errno qw(EAGAIN EIDRM EINTR EINVAL ENOMSG);
use IPC::Msg;
use IPC::SysV qw(IPC_CREAT IPC_EXCL IPC_NOWAIT);

use constant {
	CLIENTS => 4,
	JOBS    => 5000,
	URGENT  => 1,
	NORMAL  => 2,
	STOP    => 3,
	SIZE    => 8192,
};

my ($role, $key) = @ARGV;
$role //= 'parent';

sub queue {
	return IPC::Msg->new($key, 0) // die "msgget: $!\n";
}

# Jobs are as long as texts are in life: mostly short, a few long.
sub job {
	my ($client, $n) = @_;
	return "$client:$n:" . ('x' x ($n % 50 ? $n % 97 : 3000));
}

sub client {
	my ($number) = @_;
	my ($queue, $answer) = queue();
	for my $n (1 .. JOBS) {
		my $job = job($number, $n);
		$queue->snd($n % 10 ? NORMAL : URGENT, pack 'l a*', $$, $job)
			or die "snd: $!\n";
		# Every fourth answer is waited for later.
		next if $n % 4 == 1;
		for my $m ($n % 4 == 2 ? ($n - 1, $n) : $n) {
			my $type = $queue->rcv($answer, SIZE, $$) // die "rcv: $!\n";
			die "type $type\n" if $type != $$;
			my ($which, $digest) = split / /, $answer;
			die "wrong answer $answer\n"
				if $digest ne md5_hex(job($number, $which));
		}
	}
	return;
}

sub server {
	my ($queue, $job, $served) = (queue(), '', 0);
	while (1) {
		my $type = $queue->rcv($job, SIZE, -STOP()) // die "rcv: $!\n";
		last if $type == STOP;
		my ($client, $text) = unpack 'l a*', $job;
		my (undef, $n) = split /:/, $text;
		$queue->snd($client, "$n " . md5_hex($text)) or die "snd: $!\n";
		$served++;
	}
	die "served $served\n" if $served != CLIENTS * JOBS;
	# Until the queue is removed, or it is already.
	my $type = $queue->rcv($job, SIZE, STOP);
	die "no EIDRM but $!\n"
		if defined $type || !($!{EIDRM} || $!{EINVAL});
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

sub parent {
	# A key that nobody else has.
	my $queue;
	for my $try (1 .. 100) {
		$key = 0x53350000 + ($$ * 7 + $try) % 65536;
		$queue = IPC::Msg->new($key, IPC_CREAT | IPC_EXCL | 0600);
		last if $queue;
	}
	die "msgget: $!\n" if !$queue;
	eval {
		my $text;

		die "a message in a new queue\n"
			if defined $queue->rcv($text, SIZE, 0, IPC_NOWAIT);
		die "no ENOMSG but $!\n" if !$!{ENOMSG};

		# A signal ends a call that sleeps.
		{
			local $SIG{ALRM} = sub { };
			local $! = 0;
			my $pid = fork // die "fork: $!\n";
			if (!$pid) {
				# Until it is reaped: the first may be early.
				while (kill 'ALRM', getppid) {
					select undef, undef, undef, 0.05;
					last if getppid == 1;
				}
				exit 0;
			}
			my $type = $queue->rcv($text, SIZE, 0);
			my $is_interrupted = !defined $type && $!{EINTR};
			kill 'KILL', $pid;
			waitpid $pid, 0;
			die "no EINTR\n" if !$is_interrupted;
		}

		my $server = start('server', $key);
		my @clients = map { start('client', $key, $_) } 1 .. CLIENTS;
		finish($_) for @clients;
		$queue->snd(STOP, '') or die "snd: $!\n";
		# It has taken that when nothing is left.
		select undef, undef, undef, 0.01 while $queue->stat->qnum;

		my $stat = $queue->stat;
		die "pids\n" if $stat->lspid != $$ || $stat->lrpid != $server;
		die "mode\n" if ($stat->mode & oct 777) != oct 600;

		$queue->set(qbytes => 1000) or die "set: $!\n";
		$queue->snd(9, 'x' x 1000) or die "snd: $!\n";
		die "no EAGAIN\n"
			if $queue->snd(9, 'x', IPC_NOWAIT) || !$!{EAGAIN};

		$queue->remove or die "remove: $!\n";
		finish($server);
		1;
	} or do {
		my $why = $@;
		$queue->remove;
		die $why;
	};
	die "removed, and is still there\n" if IPC::Msg->new($key, 0);
	return;
}

$role eq 'parent' ? parent() : $role eq 'server' ? server() : client($ARGV[2]);
