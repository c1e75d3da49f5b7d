/** `emend doctor --model`: one small edit in each format, asked of the model itself. */
import { createAnthropicModel } from '../../model/anthropic.js';
import { modelEntry, mostOutput_tokens } from '../../job/models.js';
import { tryFormats, type FormatTrial } from '../../model/try-formats.js';
import { parseConfig } from '../../job/config.js';
import { EXIT, ProblemError, problem, type ExitCode } from '../../shared/problems.js';
import { resolveTimings } from '../../temporal/timings.js';
import { join } from 'node:path';
import type { Io } from '../io.js';
import { printJson } from '../json.js';
import { line, plain, table } from '../render/text.js';
import { asides, type Asides, type QuietFlag } from '../quiet.js';
import { checkModelSettings } from '../services.js';
import { hearInterrupt } from '../until-interrupted.js';
import { readGivenText } from '../../workspace/given-file.js';

/** A small edit needs no more, and a model that does not end by itself is soon told. */
const answer_tokens = 2_048;

/** Exit code 7 where no format works. `name` true: the model of `emend.yaml` here, else the default. Throws ProblemError. */
export const doctorModel = async (
  io: Io,
  name: string | true,
  flags: { readonly json?: true } & QuietFlag,
): Promise<ExitCode> => {
  const asJson = flags.json === true;
  const aside = asides(io, flags);
  checkModelSettings(io.env);
  const config = await configHere(io.cwd);
  const model = name === true ? config.model : name;
  const port = createAnthropicModel({ env: io.env, streamIdle_ms: resolveTimings(io.env).streamIdle_ms });
  const interrupt = hearInterrupt(io);
  const stop = new AbortController();
  void interrupt.came.then(() => {
    stop.abort();
  });
  const trials: FormatTrial[] = [];
  try {
    if (!asJson) aside.out(`${plain(model)}: one small edit in each format`);
    const outputBudget_tokens = Math.min(answer_tokens, mostOutput_tokens(modelEntry(config, model)));
    for await (const trial of tryFormats({ model: port, name: model, outputBudget_tokens, signal: stop.signal })) {
      trials.push(trial);
      if (!asJson) tell(io, trial);
    }
  } finally {
    interrupt.off();
  }
  if (asJson) printJson(io, 'doctor --model', { v: 1, model, trials });
  else sayAdvice(aside, model, trials);
  return trials.some(({ works }) => works) ? EXIT.done : EXIT.unavailable;
};

const configHere = async (cwd: string) => {
  const config = parseConfig(await readGivenText(join(cwd, 'emend.yaml')), 'emend.yaml');
  if (!config.ok) throw new ProblemError(config.problems[0] ?? problem('config_invalid', 'emend.yaml cannot be read.'));
  return config.value;
};

const tell = (io: Io, { format, works, outcome, message, input_tokens, output_tokens, seconds }: FormatTrial): void => {
  const cost = `${input_tokens} tokens in, ${output_tokens} out, ${seconds.toFixed(1)} s`;
  const [row = ''] = table([[works ? 'ok     ' : 'no     ', format.padEnd(15), outcome.padEnd(10), cost]]);
  io.out(row);
  // Whole, whatever the terminal's width: the end of it says what to change.
  if (!works) io.out(`        ${io.colors.bold(line(message, Infinity))}`);
};

const sayAdvice = (aside: Asides, model: string, trials: readonly FormatTrial[]): void => {
  const good = trials.filter(({ works }) => works).map(({ format }) => format);
  if (good.length === 0 || good.length === trials.length) return;
  aside.out('For emend.yaml, so that it is asked in these alone (one edit proves little: docs/models.md has an exam):');
  aside.out(`models: { ${JSON.stringify(model)}: { formats: [${good.join(', ')}] } }`);
};
