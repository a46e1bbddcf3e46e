# SPDX-License-Identifier: Apache-2.0
# Nested hashes and split strings: what perl scripts do all day.
#   hash_work.pl [KEYS]
use strict;
use warnings;

my $n_keys = shift // 300000;
my %table;
$table{"key$_"} = ["value$_", {number => $_}] for 1 .. $n_keys;
my $sum = 0;
for my $key (sort keys %table) {
    my @parts = split /1/, $key;
    $sum += length($table{$key}[0]) + @parts;
}
print "$sum\n";
