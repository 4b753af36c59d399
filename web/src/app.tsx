import { lazy, Suspense, useEffect, useState, type ComponentType, type MouseEvent, type ReactNode } from "react";
import { Link, Redirect, Route, Router, Switch, useLocation, useSearchParams } from "wouter";
import { hashLink, useHashPath, useHashSearch } from "./offline/hash_address";
import { OFFLINE } from "./offline/mode";
import { NotHerePage } from "./offline/not_here";
import { Boundary } from "./parts/boundary";
import { shellWord } from "./parts/copy_as";
import { Definitions } from "./parts/definitions";
import { keep, kept } from "./parts/kept";
import { Keys } from "./parts/keys";
import { Palette } from "./parts/palette_of_commands";
import { Reader } from "./parts/reader";
import { ServerGone } from "./parts/server_gone";
import { Waiting } from "./parts/state";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";

const TimelinePage = lazy(() => import("./pages/timeline"));
const ComparePage = lazy(() => import("./pages/compare"));
const TrendPage = OFFLINE ? TrendNotHere : lazy(() => import("./pages/trend"));
const OutliersPage = OFFLINE ? OutliersNotHere : lazy(() => import("./pages/outliers"));
const SimilarPage = OFFLINE ? SimilarNotHere : lazy(() => import("./pages/similar"));
const RulesPage = lazy(() => import("./pages/rules"));
const FlamePage = lazy(() => import("./pages/flame"));
const SqlPage = OFFLINE ? SqlNotHere : lazy(() => import("./pages/sql"));
const LivePage: ComponentType<{ recording?: string }> = OFFLINE ? LiveNotHere : lazy(() => import("./pages/live"));
const SystemPage = OFFLINE ? SystemNotHere : lazy(() => import("./pages/system"));

/** The path that a proxy puts before ours, from <base>. */
const BASE = OFFLINE ? "" : new URL(document.baseURI).pathname.replace(/\/$/, "");

export function App(): ReactNode {
  return (
    <Router base={BASE} {...(OFFLINE ? { hook: useHashPath, searchHook: useHashSearch, hrefs: hashLink } : {})}>
      <Shell />
    </Router>
  );
}

function Shell(): ReactNode {
  const [path] = useLocation();
  const [theme, setTheme] = useTheme();
  return (
    <>
      <a className="skip" href="#main" onClick={OFFLINE ? showContent : undefined}>
        To the content
      </a>
      <header className="bar">
        <Link href="/runs" className="brand">
          NeuroLens
        </Link>
        <nav aria-label="Pages">
          <Page href="/runs">Runs</Page>
          <Page href="/compare">Compare</Page>
          <Page href="/trend">Trend</Page>
          <Page href="/outliers">Outliers</Page>
          <Page href="/similar">Similar</Page>
          <Page href="/flame">Flame</Page>
          <Page href="/sql">SQL</Page>
          <Page href="/rules">Rules</Page>
          <Page href="/live">Live</Page>
          <Page href="/system">System</Page>
        </nav>
        {OFFLINE ? <span className="hint">A copy to read, without a server</span> : <Reader />}
        <button onClick={() => setTheme(theme === "dark" ? "light" : "dark")} aria-label={`Use the ${theme === "dark" ? "light" : "dark"} colours`}>
          {theme === "dark" ? "☀" : "☾"}
        </button>
      </header>
      {OFFLINE ? null : <ServerGone />}
      <Boundary path={path}>
        <Suspense fallback={<Waiting what="Loading the page" />}>
          <Switch>
            <Route path="/">
              <Redirect to="/runs" replace />
            </Route>
            <Route path="/runs" component={RunsPage} />
            <Route path="/runs/:id/timeline">{({ id }) => <TimelinePage key={id} id={id} />}</Route>
            <Route path="/runs/:id/:tab?">{({ id, tab }) => <RunPage key={id} id={id} tab={tab} />}</Route>
            <Route path="/compare" component={ComparePage} />
            <Route path="/trend" component={TrendPage} />
            <Route path="/outliers" component={OutliersPage} />
            <Route path="/similar" component={SimilarPage} />
            <Route path="/rules">{() => <RulesPage />}</Route>
            <Route path="/rules/:id">{({ id }) => <RulesPage id={id} />}</Route>
            <Route path="/flame" component={FlamePage} />
            <Route path="/sql" component={SqlPage} />
            <Route path="/live">{() => <LivePage />}</Route>
            <Route path="/live/:recording">{({ recording }) => <LivePage recording={recording} />}</Route>
            <Route path="/system" component={SystemPage} />
            <Route>
              <main id="main" data-ready="true">
                <h1>There is no such page</h1>
                <p>
                  <Link href="/runs">All runs</Link>
                </p>
              </main>
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
      <Keys />
      <Palette />
      <Definitions />
    </>
  );
}

/** Addresses of pages are behind the # there, so a link to a place of the page is none. */
function showContent(event: MouseEvent): void {
  event.preventDefault();
  const main = document.getElementById("main");
  if (main) main.tabIndex = -1;
  main?.focus();
}

/** The run that a page is asked for, as a command names it. */
function useRunWord(): string {
  const [search] = useSearchParams();
  return search.get("run")?.slice(0, 12) ?? "RUN";
}

function TrendNotHere(): ReactNode {
  return <NotHerePage title="Trend" what="The trend needs all runs of a ledger, and this file has some." command="neurolens trend" />;
}

function OutliersNotHere(): ReactNode {
  return <NotHerePage title="Outliers" what="Outliers are looked for in a ledger, which this file does not have." command="neurolens outliers" />;
}

function SimilarNotHere(): ReactNode {
  return <NotHerePage title="Similar runs" what="Similar runs are looked for in a ledger, which this file does not have." command={`neurolens similar ${useRunWord()}`} />;
}

function SqlNotHere(): ReactNode {
  const [search] = useSearchParams();
  const sql = search.get("sql") ?? "SELECT name, sum(dur_ns) FROM kernels GROUP BY name";
  return <NotHerePage title="SQL" what="SQL needs the tables of the run, which this file does not have." command={`neurolens query ${useRunWord()} ${shellWord(sql)}`} />;
}

function LiveNotHere(): ReactNode {
  return <NotHerePage title="Live" what="A recording is looked at on the machine where it runs." command="neurolens record --live -- python serve.py" />;
}

function SystemNotHere(): ReactNode {
  return <NotHerePage title="System" what="What is installed is asked on the machine itself." command="neurolens system" />;
}

function Page({ href, children }: { href: string; children: ReactNode }): ReactNode {
  const [path] = useLocation();
  return (
    <Link href={href} aria-current={path === href || path.startsWith(`${href}/`) ? "page" : undefined}>
      {children}
    </Link>
  );
}

function useTheme(): ["light" | "dark", (theme: "light" | "dark") => void] {
  const [theme, setTheme] = useState<"light" | "dark">(() => {
    const before = kept("theme");
    if (before === "light" || before === "dark") return before;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  });
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    keep("theme", theme);
  }, [theme]);
  return [theme, setTheme];
}
