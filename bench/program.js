/** The frame of a bench: reads its options, answers `--help`, and names the machine on which it measures. */
import { cpus } from 'node:os';

/** Returns time, version and processors, as the first line of a report has them. */
export const machineLine = () =>
  `${new Date().toISOString()}, Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`;

/** Returns the exit code: that of `measure`, 0 for `--help`, 2 for options that do not fit. */
export const runBench = async (readOptions, usage, measure) => {
  let options;
  try {
    options = readOptions();
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    return 2;
  }
  if (options.help) {
    console.log(usage);
    return 0;
  }
  return measure(options);
};
