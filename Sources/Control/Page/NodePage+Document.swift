import HTTP
import PageServer

// The page, and the document that it shows.

extension NodePage {
  var page: PageFile { Self.file }

  func document() async throws -> [UInt8] { try await status() }

  private static let file = PageFile(
    html: """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>Waymark</title>
      <style>\(style)</style>
      <pre id="status"></pre>
      <script>\(script)</script>
      </html>

      """, scripts: [script], styles: [style])

  private static let style = """
    :root { color-scheme: light dark; }
    pre { white-space: pre-wrap; overflow-wrap: anywhere; }
    """

  private static let script = """
    "use strict";
    // A link that is opened again in this browser arrives here with its code.
    if (location.hash) history.replaceState(null, "", "/");
    const shown = document.getElementById("status");
    async function load() {
      const headers = { "X-Waymark": localStorage.getItem("\(LoginPage.keyName)") ?? "" };
      const answer = await fetch("/document", { headers });
      shown.textContent = answer.ok
        ? JSON.stringify(await answer.json(), null, 2)
        : "This page is not open in this browser any more. To open it, run: waymark page --live";
    }
    const events = new EventSource("/events");
    events.addEventListener("changed", load);
    events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) load(); });
    """
}
