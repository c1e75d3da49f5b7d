/** Forty kinds of secret, drawn anew each time: none is real, and none stands in this repository, so no scanner of it has anything to find. */

/** A whole number from 0 to `below` - 1. */
export type Random = (below: number) => number;

/** One to be hidden: `text` as programs hold it (PEM keys have lines), `parts`: what of it must not be seen. */
export interface Drawn {
  readonly name: string;
  readonly text: string;
  readonly parts: readonly string[];
}
type Draw = (of: Drawing) => string | Omit<Drawn, 'name'>;

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const UPPER = LOWER.toUpperCase();
const HEX = `${DIGITS}abcdef`;
const WORD = UPPER + LOWER + DIGITS;
const BASE64 = `${WORD}+/`;

class Drawing {
  private readonly random: Random;
  constructor(random: Random) {
    this.random = random;
  }
  readonly of = (letters: string, count: number): string =>
    Array.from({ length: count }, () => letters[this.random(letters.length)]).join('');
  readonly hex = (count: number): string => this.of(HEX, count);
  readonly word = (count: number): string => this.of(WORD, count);
  readonly url = (count: number): string => this.of(`${WORD}-_`, count - 1) + this.of(WORD, 1);
  readonly base64 = (count: number, end = ''): string => this.of(BASE64, count) + end;
}

const pem = (of: Drawing, label: string, begin: string, length: number): Omit<Drawn, 'name'> => {
  const lines = (begin + of.base64(length - begin.length - 2, '==')).match(/.{1,64}/g) ?? [];
  return {
    text: [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join('\n'),
    parts: lines,
  };
};
const inside = (before: string, secret: string, after: string): Omit<Drawn, 'name'> => ({
  text: before + secret + after,
  parts: [secret],
});
const jwtPart = (of: Drawing, claims: object): string =>
  Buffer.from(JSON.stringify({ ...claims, id: of.word(16) })).toString('base64url');

/** The name under which a program keeps it, and how it is drawn. */
const FORMATS: readonly (readonly [string, Draw])[] = [
  ['AWS_ACCESS_KEY_ID', (of) => `AKIA${of.of(UPPER + DIGITS, 16)}`],
  ['AWS_SECRET_ACCESS_KEY', (of) => of.base64(40)],
  ['AWS_SESSION_TOKEN', (of) => `IQoJ${of.base64(340, '==')}`],
  ['GOOGLE_MAPS_KEY', (of) => `AIza${of.url(35)}`],
  ['GOOGLE_CLIENT_SECRET', (of) => `GOCSPX-${of.url(28)}`],
  ['GOOGLE_ACCESS', (of) => `ya29.${of.url(120)}`],
  ['GITHUB_TOKEN', (of) => `ghp_${of.word(36)}`],
  ['GH_FINE_GRAINED', (of) => `github_pat_${of.word(22)}_${of.word(59)}`],
  ['GITLAB_TOKEN', (of) => `glpat-${of.url(20)}`],
  ['SLACK_BOT', (of) => `xoxb-${of.of(DIGITS, 12)}-${of.of(DIGITS, 13)}-${of.word(24)}`],
  ['SLACK_APP', (of) => `xapp-1-A${of.of(UPPER + DIGITS, 10)}-${of.of(DIGITS, 13)}-${of.hex(64)}`],
  [
    'SLACK_WEBHOOK',
    (of) =>
      inside(
        `https://hooks.slack.com/services/`,
        `T${of.of(UPPER, 8)}/B${of.of(UPPER, 8)}/${of.word(24)}`,
        '',
      ),
  ],
  ['STRIPE_KEY', (of) => `sk_live_${of.word(24)}`],
  ['STRIPE_RESTRICTED', (of) => `rk_live_${of.word(99)}`],
  ['STRIPE_WEBHOOK', (of) => `whsec_${of.word(32)}`],
  ['NPM_TOKEN', (of) => `npm_${of.word(36)}`],
  ['PYPI_UPLOAD', (of) => `pypi-AgEIcHlwaS5vcmc${of.url(160)}`],
  ['GEM_HOST', (of) => `rubygems_${of.hex(48)}`],
  ['DOCKER_HUB', (of) => `dckr_pat_${of.url(27)}`],
  ['OPENAI_API_KEY', (of) => `sk-proj-${of.url(74)}T3BlbkFJ${of.url(74)}`],
  ['ANTHROPIC_API_KEY', (of) => `sk-ant-api03-${of.url(93)}AA`],
  ['HUGGING_FACE', (of) => `hf_${of.of(UPPER + LOWER, 34)}`],
  ['SENDGRID', (of) => `SG.${of.url(22)}.${of.url(43)}`],
  ['MAILGUN_API_KEY', (of) => `key-${of.hex(32)}`],
  ['MAILCHIMP', (of) => `${of.hex(32)}-us12`],
  ['TWILIO_SID', (of) => `SK${of.hex(32)}`],
  ['TELEGRAM_BOT', (of) => inside(`${of.of('123456789', 10)}:`, `AA${of.url(33)}`, '')],
  ['DISCORD_BOT', (of) => `MT${of.url(24)}.${of.word(6)}.${of.url(38)}`],
  ['SHOPIFY', (of) => `shpat_${of.hex(32)}`],
  ['DIGITALOCEAN', (of) => `dop_v1_${of.hex(64)}`],
  ['DATABRICKS', (of) => `dapi${of.hex(32)}`],
  ['VAULT_SESSION', (of) => `hvs.${of.url(95)}`],
  [
    'AZURE_STORAGE',
    (of) =>
      inside(
        'DefaultEndpointsProtocol=https;AccountName=store;AccountKey=',
        of.base64(86, '=='),
        ';EndpointSuffix=core.windows.net',
      ),
  ],
  [
    'SESSION_JWT',
    (of) => `${jwtPart(of, { alg: 'HS256' })}.${jwtPart(of, { sub: 'someone' })}.${of.url(43)}`,
  ],
  ['DATABASE_URL', (of) => inside('postgres://app:', of.word(20), '@db.internal:5432/app')],
  ['FEED_URL', (of) => inside('https://reader:', of.word(16), '@feeds.internal.net/all.xml')],
  ['DB_PASSWORD', (of) => of.of(`${WORD}${DIGITS}!#%*+-.=?^_~`, 24)],
  ['SESSION_SECRET', (of) => of.hex(64)],
  ['SIGNING_KEY', (of) => pem(of, `RSA PRIVATE KEY`, 'MIIE', 1588)],
  ['DEPLOY_KEY', (of) => pem(of, `OPENSSH PRIVATE KEY`, 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmU', 540)],
];

/** One of each. */
export const drawn = (random: Random): readonly Drawn[] =>
  FORMATS.map(([name, draw]) => {
    const made = draw(new Drawing(random));
    return typeof made === 'string' ? { name, text: made, parts: [made] } : { name, ...made };
  });
