#!/usr/bin/env bash
# Start one run on both nodes and turn the usual failures into one code.
# Usage: scripts/launch.sh CONFIG RUN        e.g. scripts/launch.sh configs/base.yaml r26
set -euo pipefail

config=${1:?config file}
run=${2:?run name}
nodes=(a100-n01 a100-n02)
log=logs/$run.log

for node in "${nodes[@]}"; do
  # The circuit can't feed sixteen cards at 400 W: notes/power-cap.md
  ssh "$node" "sudo nvidia-smi -pl 330 >/dev/null"
  # An index on NFS stalled rank 11 for half an hour: notes/failure-codes.md
  ssh "$node" "rsync -a --delete /nfs/lumen/index/ /nvme/lumen-index/"
done

python src/model.py --check-vocab "$config"

set +e
torchrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint "${nodes[0]}:29511" \
  src/train.py --config "$config" --run "$run" 2>&1 | tee -a "$log"
status=${PIPESTATUS[0]}
set -e
[ "$status" -eq 0 ] && exit 0

code=UNKNOWN_0099
grep -q "link is down" "$log" && code=NCCL_ERR_4007
grep -q "Watchdog caught collective operation timeout" "$log" && code=NCCL_ERR_4012
grep -q "Connection reset by peer" "$log" && code=NCCL_ERR_4031
grep -q "device-side assert triggered" "$log" && code=CUDA_ERR_5002
grep -q "CUDA out of memory" "$log" && code=CUDA_ERR_5009
grep -q "no visible key" "$log" && code=DATA_ERR_6001
grep -q "DATA_ERR_6004" "$log" && code=DATA_ERR_6004
echo "launcher: $run ended with $code (torchrun said $status)" | tee -a "$log"
exit "${code: -2}"
