/** The dialog of each reason on this process's terminal, for decision-menu-terminal.test.ts: a line `CHOICE …` for each choice, until `quit`. */
import { chooseAnswer } from '../../src/cli/choose-answer.js';
import { processIo } from '../../src/cli/io.js';
import { ANSWERS_BY_REASON, type PauseReason } from '../../src/shared/decisions.js';
import { questionOf } from './questions.js';

const io = processIo();
const { signal } = new AbortController();
const placeSettings = (place: string) => Promise.resolve({ workspace: place });

for (const reason of Object.keys(ANSWERS_BY_REASON) as PauseReason[]) {
  io.out(`REASON ${reason}`);
  for (;;) {
    const choice = await chooseAnswer({ io, signal, placeSettings }, questionOf(reason, 1));
    io.out(`CHOICE ${JSON.stringify(choice)}`);
    if (choice === null || choice.kind === 'quit') break;
  }
}
