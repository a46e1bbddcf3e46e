// SPDX-License-Identifier: Apache-2.0
//
// What a request asks for and what it is answered, without HTTP: the server makes one of the other.
// Bodies are shared: a block of many megabytes goes to several browsers, and may be replaced by a
// newer one while a slow one still reads. All on one thread, so counting is plain.
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct tide_body {
  unsigned n_users;
  struct tide_buf bytes;
};

struct tide_body *tide_body_new(void); // with one user
struct tide_body *tide_body_share(struct tide_body *body);
void tide_body_free(struct tide_body *body); // one user less; NULL is fine

// Packs bytes by gzip as they come, as quickly as that goes.
struct tide_packer;
struct tide_packer *tide_packer_new(void);
void tide_packer_take(void *packer, const void *bytes, size_t n);
struct tide_body *tide_packer_finish(struct tide_packer *packer); // frees it

// The bytes that were packed.
enum tide_err tide_body_unpack(const struct tide_body *packed, struct tide_body **ret_plain,
                               struct tide_diag *diag);

struct tide_request {
  const char *path; // after the token: "", "/…"
  // The value of a parameter in the query; NULL: not there. Valid during the request.
  const char *(*parameter)(void *context, const char *name);
  void *context;
  void *kept;         // by the reply that asked for more time; NULL: it is asked for the first time
  const char *posted; // what came with it, ended by a NUL; NULL: it is no POST
  const char *query;  // as it was sent, behind the '?'; NULL: there is none
};

struct tide_reply {
  unsigned status;
  const char *type;     // static: the media type
  bool is_packed;       // the body is gzip: whoever does not take that gets it unpacked
  uint64_t tag;         // names this version of the body; 0: none
  const char *source;   // of a source file: "newer" than the capture, or "none" to be had
  bool is_refusal;      // nothing was given; ends the connection
  const char *location; // where to go instead; NULL: nowhere. Lives on
  const char *filename; // what to save it as; NULL: nothing. Lives on
  // Not now: the same is asked again after so many milliseconds, with what is kept for it, which is
  // forgotten when the request has ended. 0: this is the answer.
  uint32_t later_ms;
  void *kept;
  void (*forget)(void *kept);
  bool is_profilers; // for profilers: a refusal says so as Go's does
  const char *csp; // a Content-Security-Policy; NULL: that of data, which allows nothing. Lives on
  struct tide_body *body; // owned
};

// A reply of one line for people.
void tide_reply_text(struct tide_reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tide_reply_done(struct tide_reply *reply);
