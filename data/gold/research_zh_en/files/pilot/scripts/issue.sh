#!/usr/bin/env bash
# Called by the centre's scheduler at 08:30. Exit code 3 means: do not send.
set -euo pipefail
heron-pilot check --max-age-minutes 20 || exit 3
heron-pilot issue --date tomorrow --deadline 08:45 --out /srv/heron/out
heron-pilot verify /srv/heron/out/latest.csv --max-inversions 0 || exit 3
heron-pilot send /srv/heron/out/latest.csv --to reserve-desk
