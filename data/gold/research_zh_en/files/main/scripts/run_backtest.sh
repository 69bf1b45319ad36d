#!/usr/bin/env bash
# Usage: scripts/run_backtest.sh CONFIG RUN
set -euo pipefail
config=$1; run=$2
[ ! -e "logs/$run.log" ] || { echo "run $run exists; numbers are never used twice" >&2; exit 2; }

export OMP_NUM_THREADS=32
export HERON_STORE=${HERON_STORE:-/data/heron/features/v7}

python -m heron.features --check-manifest "$HERON_STORE/manifest.json"   # HRN-E701

docker run --rm --gpus '"device=0"' --shm-size 16g \
  -v /data/heron:/data/heron:ro -v "$PWD":/w -w /w \
  heron:2024.12 python -m heron.backtest --config "$config" --run "$run" \
  2>&1 | tee "logs/$run.log"

python -m heron.score --run "$run" --append results/backtest.csv
