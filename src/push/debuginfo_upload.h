// SPDX-License-Identifier: Apache-2.0
//
// A file with names, uploaded to a Parca that lacks it, so that it can name addresses by build id:
//
//     ShouldInitiateUpload   has it that build id already, or can it have it elsewhere?
//     InitiateUpload         an id for the upload, and where to: to itself, or to a signed URL
//     Upload, or PUT         the file, read piece by piece: it may be larger than memory
//     MarkUploadFinished
//
// All are gRPC-Web. The token is for Parca, never for a signed URL.
#pragma once
#include "push/push_target.h"

struct tide_upload {
  const char *base_url;           // of the server
  const char *token;              // NULL: none
  const char *build_id;           // in hexadecimal
  const char *path;               // of the file
  bool (*is_over)(void *context); // see tide_exchange_ask
  void *context;
};

// TIDE_PUSH_TAKEN: it has the file now; *ret_was_there: it had, or somebody else brings it.
enum tide_push_verdict tide_upload_run(const struct tide_upload *upload, bool *ret_was_there,
                                       char *why, size_t max);
