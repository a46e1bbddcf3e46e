// SPDX-License-Identifier: Apache-2.0
//
// Which Debian package a file came with.
#pragma once

// The package's name, owned; NULL when the system is not Debian's or no package has the file. Reads
// the lists that dpkg keeps: one or two of them when file and package are named alike, else all.
char *tide_package_of(const char *path);
