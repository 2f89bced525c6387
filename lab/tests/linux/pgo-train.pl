# SPDX-License-Identifier: GPL-2.0-or-later
# What perl is trained and measured with: calls, hashes, regular expressions, sorting, strings, methods.
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }

sub words {
	my (%seen, @text);
	push @text, "w" . $_ * 7919 % 503 for 1 .. 9000;
	my $text = join " ", @text;
	$seen{$1}++ while $text =~ /\b([a-z]\d+)\b/g;
	return (sort { $seen{$b} <=> $seen{$a} or $a cmp $b } keys %seen)[0];
}

sub lines {
	my $count = 0;
	for my $n (1 .. 4000) {
		my $line = sprintf "%04d:%s;%d", $n, "x" x ($n % 9), $n * $n;
		my ($head, @parts) = split /[:;]/, $line;
		$count += length($parts[0]) + ($parts[1] =~ tr/1//) if $line =~ /^0*(\d+):x*;\1?/;
		(my $other = $line) =~ s/x+/uc $head/e;
		$count ^= unpack "%32C*", $other;
	}
	return $count;
}

package Point;
sub new { my ($class, %own) = @_; return bless {%own}, $class }
sub add { my ($p, $o) = @_; return Point->new(x => $p->{x} + $o->{x}, y => $p->{y} * 0.5 + $o->{y}) }

package main;
my $p = Point->new(x => 0, y => 0);
$p = $p->add(Point->new(x => $_, y => $_)) for 1 .. 4000;
print join(" ", fib(18), words(), lines(), $p->{x}), "\n";
