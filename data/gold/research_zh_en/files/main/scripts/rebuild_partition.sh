#!/usr/bin/env bash
# Rebuild one zone and year of the feature store after HRN-E701, then write its hash into the manifest.
set -euo pipefail
zone=$1; year=$2
python -m heron.features --zone "$zone" --year "$year" --out "$HERON_STORE/$zone/$year.parquet.new"
python -m heron.compare --rtol 1e-6 "$HERON_STORE/$zone/$year.parquet" "$HERON_STORE/$zone/$year.parquet.new" || true
read -rp "Replace? [y/N] " answer
[ "$answer" = y ] && mv "$HERON_STORE/$zone/$year.parquet.new" "$HERON_STORE/$zone/$year.parquet"
python -m heron.manifest --update "$zone/$year"
