/** Kinds of files, by the path alone: what is usual in one is a slip in another. */

/** Documents and templates, in which entities and backslashes are part of the language. */
const MARKUP =
  /\.(?:[xsd]?html?|xml|xslt?|svg|mdx?|markdown|rst|adoc|asciidoc|tex|sty|vue|svelte|astro|[jt]sx|php|erb|ejs|hbs|handlebars|mustache|jinja2?|j2|twig|liquid|njk|haml|slim|pug|cshtml|vbhtml|razor|jsp|aspx?|ascx|xaml|axaml|plist|resx|xlf|xliff|\w*proj|props|targets|nuspec|wxs|storyboard|xib|ui|qrc|rss|atom|opml|pot?|rtf|tmpl|tpl|template|snap|shot|roff|man|[1-9])$/i;
const DATA =
  /\.(?:jsonc?|json5|jsonl|ya?ml|toml|ini|cfg|conf|properties|csv|tsv|env|lock|ipynb|arb|strings|txt|log|sql)$/i;
/** Languages in which neither an entity nor a backslash before a quote is code. */
const CODE =
  /\.(?:c|h|cc|cpp|cxx|hpp|m|mm|java|kts?|cs|go|rs|swift|[cm]?[jt]s|pyi?|scala|dart|groovy|css|scss|less|zig)$/i;

/** Scripts and other code in which backslashes before quotes are usual. */
const SCRIPT =
  /\.(?:sh|bash|zsh|fish|rb|pl|pm|lua|exs?|erl|clj|r|ps1|sql|mk)$|(?:^|\/)(?:GNUm|M|m)akefile$/i;

/** Markup with code in it. */
const CODE_IN_MARKUP = /\.(?:[jt]sx|php|vue|svelte|astro|erb|ejs|cshtml|razor)$/i;

/** `a.xml.in` is XML. */
const withoutSuffix = (path: string): string => path.replace(/\.(?:in|dist|example|sample)$/i, '');

/** `first`: the first line of the file, which may say that it is XML. */
export const isMarkup = (path: string, first = ''): boolean =>
  MARKUP.test(withoutSuffix(path)) || /^\s*<[?!a-z]/i.test(first);
export const isData = (path: string): boolean => DATA.test(withoutSuffix(path));
export const isCode = (path: string): boolean => CODE.test(withoutSuffix(path));
export const isScript = (path: string): boolean => SCRIPT.test(withoutSuffix(path));
export const hasCode = (path: string): boolean => CODE_IN_MARKUP.test(path);

/** An escape outside of strings is taken whole, so each quote is tried once and the search is linear. */
const STRINGS = /\\.|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const REGEX_LINE_CHARS = 2_000; // bound: Regular expressions are not looked for in longer lines; the search is quadratic.
const REGEX = /(?<=[=(,:[!&|?{};\s])\/(?![*/])(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\/[a-z]*/g;
const COMMENT_LINE =
  /^\s*(?:\/\/|\/\*|\*(?!\w)|#(?!\s*(?:include|if|el|define|pragma))|--\s|;|"""|'''|%|<!--)/;
const COMMENT_AT_THE_END = /\s(?:\/\/|#\s|--\s|\/\*).*$/;

/** What a line holds outside of strings that begin with one of `quotes`. */
export const withoutStringsIn = (line: string, quotes: string): string =>
  line.replace(STRINGS, (match) => (quotes.includes(match.charAt(0)) ? '' : match));

/** What a line holds outside of strings and regular expressions. */
export const withoutLiterals = (line: string): string => {
  const code = withoutStringsIn(line, '"\'`');
  return line.length > REGEX_LINE_CHARS ? code : code.replace(REGEX, '//');
};

/** What a line holds outside of strings and comments, as far as the line alone shows it. */
export const withoutStrings = (line: string): string =>
  COMMENT_LINE.test(line) ? '' : withoutLiterals(line).replace(COMMENT_AT_THE_END, '');
