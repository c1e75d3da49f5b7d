/** Tokens that their own form gives away, wherever they stand. The rules that need more than a form are in `src/system/secrets.ts`. Pure. */
const TOKENS = new RegExp(
  [
    String.raw`(?:AKIA|ASIA|AROA|AIDA|A3T[A-Z\d])[A-Z\d]{16}(?![A-Z\d])`,
    String.raw`AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}`,
    String.raw`(?:sk|rk)_(?:live|test)_[A-Za-z\d]{16,}|whsec_[A-Za-z\d+/=]{24,}`,
    String.raw`eyJ(?<![\w-]eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+)*`,
    String.raw`sk-(?:proj|svcacct|admin|ant|or)-[\w-]{20,}|(?:hf|gsk|r8)_[A-Za-z\d]{30,}`,
    String.raw`xox[a-z]-[\w-]{10,}|xapp-[\w-]{20,}`,
    String.raw`gh[pousr]_[A-Za-z\d]{30,}|github_pat_\w{40,}|glpat-[\w-]{20,}|npm_[A-Za-z\d]{30,}|pypi-[\w-]{50,}|rubygems_[a-f\d]{48}`,
    String.raw`SG\.[\w-]{16,}\.[\w-]{32,}|key-[a-f\d]{32}(?![a-f\d])|[a-f\d]{32}-us\d{1,2}(?!\d)|(?:SK|AC)[a-f\d]{32}(?![a-f\d])`,
    String.raw`[MNO][DTjz][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,}`,
    String.raw`do[opr]_v1_[a-f\d]{64}|hv[sbr]\.[\w-]{24,}|AGE-SECRET-KEY-1[A-Z\d]{58}|dp\.\w{2,5}\.[A-Za-z\d]{40,}`,
  ].join('|'),
  'g',
);

/** Looked at afterwards: in front of the forms it would be looked for at every character. */
const IN_WORD = /[\w-]/;
/** Words that people write where a secret shall be put in. */
export const STANDS_FOR_ONE =
  /example|sample|placeholder|changeme|change_me|your[_-]|redacted|dummy|\.{3}|x{4}|\*{3}|\$\{|\{\{|process\.env/i;

/** Returns the text with `(secret)` for each token. */
export const withoutTokens = (text: string): string =>
  tokensIn(text).reduce((rest, token) => rest.replaceAll(token, '(secret)'), text);

/** Returns the tokens of a text, in order. */
export const tokensIn = (text: string): readonly string[] =>
  [...text.matchAll(TOKENS)].flatMap(({ 0: value, index }) =>
    IN_WORD.test(text.charAt(index - 1)) || STANDS_FOR_ONE.test(value) ? [] : [value],
  );
