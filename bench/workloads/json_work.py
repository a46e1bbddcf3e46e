# SPDX-License-Identifier: Apache-2.0
# About six million allocations under PYTHONMALLOC=malloc: build, dump and parse nested JSON.
#   json_work.py [ROUNDS [ROWS]]
import json
import sys

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
n_rows = int(sys.argv[2]) if len(sys.argv) > 2 else 12000
checksum = 0
for turn in range(rounds):
    rows = [{"id": i, "name": f"name-{turn}-{i}", "tags": [f"t{i % 7}", f"u{i % 11}"],
             "score": i * 1.5, "nested": {"a": i, "b": [i, i + 1, i + 2]}} for i in range(n_rows)]
    text = json.dumps(rows)
    back = json.loads(text)
    checksum += len(text) + sum(len(row["name"]) for row in back)
print(checksum)
