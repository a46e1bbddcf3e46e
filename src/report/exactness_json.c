// SPDX-License-Identifier: Apache-2.0
//
// "exactness": {"sampled": null, "allocated": {"is": "exact"}, …}
#include "report/exactness_json.h"

#include "model/exactness.h"

static void write_sampling(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "sampled");
  if (!image->sampled_every_bytes) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  if (image->has_samples)
    tide_json_put_u64(json, "every_bytes", image->sampled_every_bytes);
  else
    tide_json_put_text(json, "every_bytes", NULL);
  tide_json_close_object(json);
}

void tide_exactness_json(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "exactness");
  tide_json_open_object(json);
  write_sampling(json, image);
  for (int figure = 0; figure < TIDE_FIGURES_N; figure++) {
    struct tide_amount amount = tide_image_bytes(image, (enum tide_figure)figure, 0);
    if (figure == TIDE_FIGURE_SAMPLES)
      continue; // they are counted
    tide_json_key(json, tide_figure_words[figure]);
    tide_json_open_object(json);
    tide_json_put_text(json, "is", tide_exactness_words[amount.exactness]);
    if (amount.bound)
      tide_json_put_u64(json, "bound_bytes", amount.bound);
    tide_json_close_object(json);
  }
  tide_json_close_object(json);
}
