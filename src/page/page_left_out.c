// SPDX-License-Identifier: Apache-2.0
//
// Without the page: built where there is no node, or with -Dui=disabled.
#include "page/html_report.h"

const struct tide_embedded_page *tide_embedded_page(void)
{
  return NULL;
}
