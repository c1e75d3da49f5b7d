/** Tries a model on one small edit in each format: what `emend doctor --model` shows. Needs no server and no worker. */
import { applyAnswer, decodeFile } from '../edits/index.js';
import { type Format, FORMATS } from '../shared/formats.js';
import { ModelError } from './errors.js';
import { nonceFor } from './nonce.js';
import { buildEditRequest, NOTHING_BESIDE } from './prompt/edit.js';
import { estimateRequestTokens, promptCut } from './prompt/tokens.js';
import { toAnswer } from './slot-answer.js';
import type { ModelPort, StreamEvent } from './types.js';
import { tokensIn } from '../shared/usage.js';

export interface FormatTrial {
  readonly format: Format;
  /** The answer was used and the file is as it should be. */
  readonly works: boolean;
  /** In a word: the answer's outcome, `wrong` (used, and another change than the one asked for), `prompt_cut`, or a failed call's kind. */
  readonly outcome: string;
  /** Why it does not work; empty where it does. */
  readonly message: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly seconds: number;
}

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
    if (trial.outcome === 'auth' || options.signal.aborted) return;
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
    ...NOTHING_BESIDE,
  });
  const nonce = nonceFor(`doctor ${format}`, built.haystack);
  const request = built.request(nonce);
  const events: StreamEvent[] = [];
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  const onEvent = (event: StreamEvent): Promise<void> => {
    events.push(event);
    return Promise.resolve();
  };
  try {
    await model.stream(request, { signal, onEvent });
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return {
      format,
      works: false,
      outcome: error.kind,
      message: error.message,
      input_tokens: 0,
      output_tokens: 0,
      seconds: seconds(),
    };
  }
  const answer = toAnswer({ events, complete: true, seconds: seconds() }, name);
  const { usage } = answer;
  const told = {
    format,
    input_tokens: tokensIn(usage),
    output_tokens: usage.output_tokens,
    seconds: seconds(),
  };
  if (promptCut(estimateRequestTokens(request), usage))
    return {
      ...told,
      works: false,
      outcome: 'prompt_cut',
      message: 'the server cut the prompt: raise its context size (num_ctx for Ollama)',
    };
  const outcome = applyAnswer({
    format,
    answer: answer.text,
    files: new Map([[PATH, { bytes }]]),
    options: { nonce, requireMarker: true, stopReason: answer.stopReason, asked: INSTRUCTIONS },
  });
  if (outcome.outcome !== 'edited')
    return { ...told, works: false, outcome: outcome.outcome, message: outcome.reasons[0]?.message ?? '' };
  const result = outcome.files.get(PATH);
  const works = result !== undefined && result !== 'absent' && new TextDecoder().decode(result.bytes) === AFTER;
  return works
    ? { ...told, works, outcome: 'edited', message: '' }
    : {
        ...told,
        works,
        outcome: 'wrong',
        message: 'the answer was well formed and made another change than the one asked for',
      };
}
