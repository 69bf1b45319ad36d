#!/usr/bin/env bash
# Fetch one cycle of both weather models; called by cron at 02:45 and again at 03:30.
set -euo pipefail
cycle=${1:-$(date -u -d '12 hours ago' +%Y%m%d)12}
for model in glb-hr cnw-9; do
  target=/data/heron/weather/$model/$cycle.grib2
  [ -s "$target" ] && continue
  curl --fail --retry 5 --retry-delay 60 --max-time 900 -o "$target.part" \
    "http://weather.intern/$model/$cycle.grib2"
  grib_ls "$target.part" > /dev/null          # a cut file fails here
  mv "$target.part" "$target"
done
