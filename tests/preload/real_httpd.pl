#!/usr/bin/perl
# SPDX-License-Identifier: MIT
#
# real_httpd.pl PORT CLIENTS REQUESTS - clients that ask a server for pages, at
# PORT and PORT + 1 by turns; each page must come whole.

use strict;
use warnings;
use IO::Socket::INET;

my ($port, $clients, $requests) = @ARGV;

sub ask {
	my ($n) = @_;
	my $page = $n % 40;
	my $socket = IO::Socket::INET->new(
		PeerAddr => '127.0.0.1',
		PeerPort => $port + $n % 2,
		Timeout  => 30,
	) or die "connect: $@\n";
	print {$socket} "GET /$page HTTP/1.0\r\n\r\n";
	local $/ = undef;
	my $answer = <$socket>;
	die "page $page: nothing\n" if !defined $answer;
	die "page $page: $answer\n"
		if $answer !~ m{\AHTTP/1.\d 200 } || $answer !~ m{\n\r\npage $page\n\z};
	return;
}

my @children;
for my $client (1 .. $clients) {
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		ask($client + $_) for 1 .. $requests;
		exit 0;
	}
	push @children, $pid;
}
my $bad = 0;
for my $pid (@children) {
	waitpid $pid, 0;
	$bad++ if $?;
}
exit($bad ? 1 : 0);
