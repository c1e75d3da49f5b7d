/** `emend doctor --model`: one small edit in each format, asked of the model itself. */
import { z } from 'zod';
import { createAnthropicModel } from '../../model/index.js';
import { modelEntry, mostOutput_tokens } from '../../documents/job/index.js';
import type { FormatTrial } from '../json-types.js';
import { EXIT, valueOf, type ExitCode } from '../../shared/problems.js';
import { resolveTimings } from '../../temporal/settings.js';
import { type Io, type JsonFlag, asides, type Asides, type QuietFlag } from '../io.js';
import { printJson } from '../json.js';
import { line, plain, table } from '../render/text.js';
import { checkModelSettings } from '../services.js';
import { hearInterrupt } from '../session.js';
import { readConfig } from '../../workspace/documents/index.js';
import { applyAnswer, decodeFile } from '../../edits/index.js';
import { type Format, FORMATS } from '../../shared/formats.js';
import { ModelError } from '../../model/errors.js';
import { askOnce, nonceFor } from '../../model/journal/index.js';
import { buildEditRequest, NOTHING_ELSE } from '../../model/prompts/index.js';
import { estimateRequestTokens, isPromptCut } from '../../model/tokens.js';
import type { ModelPort } from '../../model/ports.js';
import { NO_USAGE, tokensIn } from '../../shared/usage.js';

const PATH = 'src/config.txt';
const BEFORE = 'name = emend\nport = 8080\ntimeout = 30\nretries = 3\nverbose = false\n';
const AFTER = BEFORE.replace('timeout = 30', 'timeout = 60');
const INSTRUCTIONS = `# A longer timeout\n\nSet \`timeout\` in \`${PATH}\` to 60.\n`;

export interface TryFormats {
  readonly model: ModelPort;
  readonly name: string;
  readonly outputBudget_tokens: number;
  readonly signal: AbortSignal;
}

/** One call a format, one after the other; each is handed on as it is known. After a call that failed for good no other is made. */
export async function* tryFormats(options: TryFormats): AsyncGenerator<FormatTrial> {
  for (const format of FORMATS) {
    const trial = await tryFormat(format, options);
    yield trial;
    if (trial.outcome === 'auth' || trial.outcome === 'not_found' || options.signal.aborted) return;
  }
}

async function tryFormat(
  format: Format,
  { model, name, outputBudget_tokens, signal }: TryFormats,
): Promise<FormatTrial> {
  const bytes = new TextEncoder().encode(BEFORE);
  const decoded = decodeFile(bytes);
  const built = buildEditRequest({
    model: name,
    format,
    outputBudget_tokens,
    inputBudget_tokens: Infinity,
    files: [{ path: PATH, text: decoded.ok ? decoded.text : null }],
    instructions: INSTRUCTIONS,
    ...NOTHING_ELSE,
  });
  const nonce = nonceFor(`doctor ${format}`, built.haystack);
  const request = built.request(nonce);
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  const trial = (
    outcome: string,
    message: string,
    { input_tokens, output_tokens } = NO_USAGE,
  ): FormatTrial => ({
    format,
    works: outcome === 'edited',
    outcome,
    message,
    input_tokens,
    output_tokens,
    seconds: seconds(),
  });
  const answer = await askOnce(model, request, signal).catch((error: unknown) => {
    if (error instanceof ModelError) return error;
    throw error;
  });
  if (answer instanceof ModelError) return trial(answer.kind, answer.message);
  const used = { ...NO_USAGE, ...answer.usage, input_tokens: tokensIn(answer.usage) };
  if (isPromptCut(estimateRequestTokens(request), answer.usage))
    return trial(
      'prompt_cut',
      'the server cut the prompt: raise its context size (num_ctx for Ollama)',
      used,
    );
  const outcome = applyAnswer({
    format,
    answer: answer.text,
    files: new Map([[PATH, { bytes }]]),
    options: { nonce, requireMarker: true, stopReason: answer.stopReason, asked: INSTRUCTIONS },
  });
  if (outcome.outcome !== 'edited')
    return trial(outcome.outcome, outcome.reasons[0]?.message ?? '', used);
  const result = outcome.files.get(PATH);
  const works =
    result !== undefined && result !== 'absent' && new TextDecoder().decode(result.bytes) === AFTER;
  return works
    ? trial('edited', '', used)
    : trial('wrong', 'the answer was well-formed but made a different change', used);
}

/** A small edit needs no more, and a model that does not end by itself is soon told. */
const answer_tokens = 2_048;

/** Exit code 7 where no format works. `name` true: the model of `emend.yaml` here, else the default. Throws ProblemError. */
export const doctorModel = async (
  io: Io,
  name: string | true,
  flags: JsonFlag & QuietFlag,
): Promise<ExitCode> => {
  const asJson = flags.json === true;
  const aside = asides(io, flags);
  checkModelSettings(io.env);
  const config = valueOf(await readConfig(io.cwd));
  const model = name === true ? config.model : name;
  const port = createAnthropicModel({
    env: io.env,
    streamIdle_ms: resolveTimings(io.env).streamIdle_ms,
  });
  const interrupt = hearInterrupt(io);
  const stop = new AbortController();
  void interrupt.came.then(() => stop.abort());
  const trials: FormatTrial[] = [];
  try {
    if (!asJson) aside.out(`${plain(model)}: one small edit in each format`);
    const outputBudget_tokens = Math.min(
      answer_tokens,
      mostOutput_tokens(modelEntry(config, model)),
    );
    for await (const trial of tryFormats({
      model: port,
      name: model,
      outputBudget_tokens,
      signal: stop.signal,
    })) {
      trials.push(trial);
      if (!asJson) tell(io, trial);
    }
  } finally {
    interrupt.off();
  }
  const serverContext_tokens = await loadedContext(io.env.ANTHROPIC_BASE_URL, model);
  if (asJson) printJson(io, 'doctor --model', { v: 1, model, serverContext_tokens, trials });
  else {
    sayAdvice(aside, model, trials);
    sayContext(aside, model, {
      served: serverContext_tokens,
      told: modelEntry(config, model).context_tokens,
    });
  }
  return trials.some(({ works }) => works) ? EXIT.done : EXIT.unavailable;
};

const LOADED = z.object({
  models: z.array(z.object({ name: z.string(), context_length: z.int().min(1) })),
});
/** Ollama lists its loaded models; anything else answers in another way, and soon. */
const ps_ms = 5_000;

/** The context that Ollama loaded the model with (`num_ctx`, tokens); null from other servers. Source: docs.ollama.com/api/ps. */
const loadedContext = async (
  baseUrl: string | undefined,
  model: string,
): Promise<number | null> => {
  if (baseUrl === undefined || baseUrl.trim() === '') return null;
  try {
    const answer = await fetch(new URL('/api/ps', baseUrl), {
      signal: AbortSignal.timeout(ps_ms),
      redirect: 'error',
    });
    const { models } = LOADED.parse(await answer.json());
    return (
      models.find(({ name }) => name === model || name === `${model}:latest`)?.context_length ??
      null
    );
  } catch {
    return null;
  }
};

const sayContext = (
  aside: Asides,
  model: string,
  { served, told }: { served: number | null; told: number },
): void => {
  if (served === null) return;
  aside.out(`num_ctx ${served}: the server cuts longer prompts silently.`);
  if (told <= served) return;
  aside.out(`Emend expects ${told}. Raise OLLAMA_CONTEXT_LENGTH, or add to emend.yaml:`);
  aside.out(`models: { ${JSON.stringify(model)}: { context_tokens: ${served} } }`);
};

const tell = (
  io: Io,
  { format, works, outcome, message, input_tokens, output_tokens, seconds }: FormatTrial,
): void => {
  const cost = `${input_tokens} tokens in, ${output_tokens} out, ${seconds.toFixed(1)} s`;
  const [row = ''] = table([
    [works ? 'ok     ' : 'no     ', format.padEnd(15), outcome.padEnd(10), cost],
  ]);
  io.out(row);
  // Whole, whatever the terminal's width: the end of it says what to change.
  if (!works) io.out(`        ${io.colors.bold(line(message, Infinity))}`);
};

const sayAdvice = (aside: Asides, model: string, trials: readonly FormatTrial[]): void => {
  const good = trials.filter(({ works }) => works).map(({ format }) => format);
  if (good.length === 0 || good.length === trials.length) return;
  aside.out(
    'Add to emend.yaml to use only these formats (one edit proves little: docs/models.md has an exam):',
  );
  aside.out(`models: { ${JSON.stringify(model)}: { formats: [${good.join(', ')}] } }`);
};
