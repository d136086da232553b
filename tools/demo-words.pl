#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# demo-words.pl [TEXTS] - real work through System V message queues, by the
# IPC::Msg of Perl's own distribution: a parent hands texts to four workers
# through one queue and gets the word counts of each back through another.
#
# The texts are made from a fixed seed, so the result is always the same.
# Prints messages, seconds, rate, and a digest of all counts.

use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use IPC::Msg;
use IPC::SysV qw(IPC_CREAT IPC_PRIVATE IPC_NOWAIT S_IRUSR S_IWUSR);
use Time::HiRes qw(time);

use constant {
	WORKERS => 4,
	WORK    => 1,       # a text to count
	LAST    => 2,       # no more texts; also the type of the last answer
	WINDOW  => 100,     # texts on their way at a time
	SIZE    => 4096,
};

my $texts = shift // 60000;
my $queue_flags = IPC_CREAT | S_IRUSR | S_IWUSR;
my ($work, $done);
my $owner = $$;
my @workers;

END {
	# Also after a failure: queues outlive processes.
	my $status = $?;
	if (defined $owner && $$ == $owner) {
		kill 'KILL', @workers if $status;
		$_ && $_->remove for $work, $done;
	}
	$? = $status;
}
$SIG{INT} = $SIG{TERM} = $SIG{HUP} = sub { exit 1 };

# A generator of our own: Perl's rand() may change between versions.
my $state = 20101;

sub next_number {
	my ($below) = @_;
	$state = ($state * 1103515245 + 12345) & 0x7fffffff;
	return ($state >> 8) % $below;
}

my @syllables = qw(ba de fi go lu ma ne pi ro su ta ve);

sub make_text {
	my @words;
	for (1 .. 8) {
		push @words, $syllables[next_number(12)]
			. $syllables[next_number(12)];
	}
	return join ' ', @words;
}

sub count_words {
	my ($counts, $text) = @_;
	$counts->{$_}++ for split / /, $text;
	return;
}

# A worker answers each text with its number of words, and in the end with all
# its counts, which may take several messages.
sub work {
	my (%counts, $text);
	while (1) {
		my $type = $work->rcv($text, SIZE, 0);
		die "rcv: $!\n" if !defined $type;
		last if $type == LAST;
		count_words(\%counts, $text);
		$done->snd(WORK, scalar(split / /, $text)) or die "snd: $!\n";
	}
	my @lines = map { "$_ $counts{$_}" } sort keys %counts;
	while (my @part = splice @lines, 0, 50) {
		$done->snd(WORK + 2, join("\n", @part)) or die "snd: $!\n";
	}
	$done->snd(LAST, 'end') or die "snd: $!\n";
	return;
}

$work = IPC::Msg->new(IPC_PRIVATE, $queue_flags) or die "msgget: $!\n";
$done = IPC::Msg->new(IPC_PRIVATE, $queue_flags) or die "msgget: $!\n";

my @input = map { make_text() } 1 .. $texts;
my $start = time;
my $messages = 0;

for (1 .. WORKERS) {
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		undef $owner;
		work();
		exit 0;
	}
	push @workers, $pid;
}

my ($sent, $answered, $words, $answer) = (0, 0, 0, '');

while ($answered < $texts) {
	while ($sent < $texts && $sent - $answered < WINDOW) {
		$work->snd(WORK, $input[$sent]) or die "snd: $!\n";
		$sent++;
	}
	# Answers by type: counts come only after the end.
	$done->rcv($answer, SIZE, WORK) // die "rcv: $!\n";
	$words += $answer;
	$answered++;
}
$messages += $sent + $answered;

$work->snd(LAST, 'end') or die "snd: $!\n" for 1 .. WORKERS;
my %total;
for (my $ends = 0; $ends < WORKERS;) {
	my $type = $done->rcv($answer, SIZE, 0);
	die "rcv: $!\n" if !defined $type;
	$messages++;
	if ($type == LAST) {
		$ends++;
		next;
	}
	for my $line (split /\n/, $answer) {
		my ($word, $count) = split / /, $line;
		$total{$word} += $count;
	}
}
my $seconds = time - $start;

for my $pid (@workers) {
	waitpid $pid, 0;
	die "a worker ended with status $?\n" if $?;
}
my $sum = 0;
$sum += $_ for values %total;
die "$sum words were counted, $words answered\n" if $sum != $words;
die "a message is left over\n"
	if defined $done->rcv($answer, SIZE, 0, IPC_NOWAIT);

printf "messages %d\nseconds %.2f\nrate %d\ndigest %s\n", $messages, $seconds,
	$messages / $seconds,
	substr md5_hex(join ' ', map { "$_ $total{$_}" } sort keys %total), 0, 12;
