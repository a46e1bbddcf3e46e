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

void tide_exactness_json_of(struct tide_json *json, const char *key, const struct tide_image *image,
                            enum tide_figure figure)
{
  struct tide_amount amount = tide_image_bytes(image, figure, 0);
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_text(json, "is", tide_exactness_words[amount.exactness]);
  if (amount.bound)
    tide_json_put_u64(json, "bound_bytes", amount.bound);
  tide_json_close_object(json);
}

void tide_exactness_json(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "exactness");
  tide_json_open_object(json);
  write_sampling(json, image);
  for (int figure = 0; figure < TIDE_FIGURES_N; figure++)
    if (figure != TIDE_FIGURE_SAMPLES) // they are counted
      tide_exactness_json_of(json, tide_figure_words[figure], image, (enum tide_figure)figure);
  tide_json_close_object(json);
}
