// SPDX-License-Identifier: Apache-2.0
//
// Who may ask the server. Other users of the machine, and every web page that a browser on it has
// open, can reach a port of the loopback; so an answer is given only to a request that
//  1. has the token in its path, 128 random bits that only whoever was given the address knows;
//  2. names in Host this server by a loopback name or an address, never by a name that somebody's
//     DNS answers with 127.0.0.1 (rebinding);
//  3. has no Origin, or that of the page itself: what Host says.
// The port in Host may be any: whoever forwards ours by ssh may call it another.
// The browser's command line can be read by every user of the machine, for as long as the browser
// runs. So it is not told the token but a ticket, which is exchanged for it once, and over a
// connection of the same user (or of root) alone: see guests.h. A private file that leads there
// would do as well, but browsers in a sandbox (snap's cannot even see /tmp, /run or hidden files)
// do not get to read it. Plain text in, yes or no out: no sockets here.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  TIDE_TOKEN_CHARS = 32, // hexadecimal, of those that are drawn
  TIDE_TOKEN_MIN = 16,   // of a token that somebody chose
  TIDE_TOKEN_MAX = 128,
};

struct tide_guard {
  char token[TIDE_TOKEN_MAX + 1];
  char ticket[TIDE_TOKEN_MAX + 1];
  char address[64]; // listened on, as text without brackets
  uint16_t port;
};

// A token that somebody chose, of letters, digits and -._~ alone: it stands in a path.
enum tide_err tide_guard_set_token(struct tide_guard *guard, const char *token,
                                   struct tide_diag *diag);

// Token and ticket, new ones; a token that was set stays.
enum tide_err tide_guard_draw(struct tide_guard *guard, struct tide_diag *diag);

// Host and Origin as the request has them; NULL: it has none. Origin is for a Host that passed.
bool tide_guard_host(const struct tide_guard *guard, const char *host);
bool tide_guard_origin(const char *origin, const char *host);

// What of a URL's path follows "/TOKEN": "" or "/…". NULL without the right token; comparing takes
// as long for a token that is nearly right as for any other.
const char *tide_guard_path(const struct tide_guard *guard, const char *url);

// Is the token in an Authorization header, as "Bearer TOKEN"? NULL: there is none.
bool tide_guard_bearer(const struct tide_guard *guard, const char *authorization);

// Did a page of another site make the browser ask? By Sec-Fetch-Site; NULL: no browser, or an old
// one. It could not read the answer, but whoever needs no token must not be made to work for it.
bool tide_guard_is_cross_site(const char *fetch_site);

// Is a URL's path "/TICKET"? Whether it is still good is the server's to say.
bool tide_guard_is_ticket(const struct tide_guard *guard, const char *url);

// Is an address of the loopback? Text as inet_pton() reads it.
bool tide_guard_is_loopback(const char *address);
