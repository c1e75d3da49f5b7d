/**
 * `node --import ./bench/count-calls.js …`: counts the gRPC calls of a process by their names, with an interceptor at the bottom of each client,
 * so that repeated calls count again. Writes them and the CPU time of the process to the file `BENCH_CALLS` when the process ends.
 */
import { realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// The command's own: another build may have another copy.
const grpc = createRequire(realpathSync(process.argv[1]))('@grpc/grpc-js');
const counts = {};
const counting = (options, next) => {
  const name = options.method_definition.path.split('/').at(-1);
  counts[name] = (counts[name] ?? 0) + 1;
  return new grpc.InterceptingCall(next(options));
};

// Temporal's SDK hands its interceptors to each call, in the options before the callback.
const { makeUnaryRequest } = grpc.Client.prototype;
grpc.Client.prototype.makeUnaryRequest = function countedRequest(...args) {
  const [options, callback] = args.slice(-2);
  const interceptors = [...(options.interceptors ?? []), counting];
  const counted = [...args.slice(0, -2), { ...options, interceptors }, callback];
  return makeUnaryRequest.apply(this, counted);
};

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  if (process.env.BENCH_CALLS !== undefined)
    writeFileSync(
      process.env.BENCH_CALLS,
      JSON.stringify({ calls: counts, cpu_ms: (user + system) / 1000 }),
    );
});
