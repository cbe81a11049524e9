import JSONDocument
import Wire

extension Seeds {
  /// Requests as the command line sends them, several per input.
  @Sendable static func control() throws -> [[UInt8]] {
    let fields = #"{"fields":[["name","Rome"],["notes","x"]]}"#
    let lines = [
      line("status"), line("trip.add", fields),
      line("trip.list", #"{"sort":"name","limit":"3","search":"o"}"#),
      line("trip.show", #"{"id":"Rome"}"#), line("trip.edit", #"{"id":"Rome","fields":[["name","Oslo"]]}"#),
      line("trip.delete", #"{"ids":["Rome"],"id":"Rome"}"#), line("trip.restore", #"{"id":"Rome"}"#),
      line("trip.timeline", #"{"id":"Rome"}"#), line("trip.list", #"{"deleted":true}"#),
      line(
        "lodging.add",
        #"{"fields":[["trip","Rome"],["name","Casa"],["cost","12.50 EUR"],["start","2026-05-03T15:00 Europe/Rome"]]}"#
      ),
      line("organization.list"), line("organization.delete", #"{"id":"None","force":true}"#),
      line("habit.add", #"{"fields":[["name","Read"],["kind","numeric"],["dailyTarget","3"]]}"#),
      line("habit.tick", #"{"id":"Read","date":"2026-05-03","value":"2"}"#),
      line("habit.untick", #"{"id":"Read"}"#),
      line("habit.set", #"{"id":"Read","value":"5","date":"2026-05-03T10:00:00Z"}"#),
      line("category.add", #"{"fields":[["name","health"],["key","health"]]}"#),
      line("entry.list", #"{"habit":"Read"}"#),
      line("profile.show"), line("profile.set", #"{"fields":[["name","Ann"],["appearance","dark"]]}"#),
      line("settings.list"), line("settings.set", #"{"key":"colorScheme","value":"dark"}"#),
      line("settings.get", #"{"key":"colorScheme"}"#), line("settings.unset", #"{"key":"colorScheme"}"#),
      line("history", #"{"limit":"5","record":"Rome"}"#), line("undo", #"{"operation":"1","yes":true}"#),
      line("conflicts.list"), line("conflicts.resolve", #"{"id":"1","take":"winner"}"#),
      line("conflicts.show", #"{"id":"1"}"#), line("peers.list"),
      line("peers.add", #"{"address":"10.0.0.1:7433"}"#),
      line("peers.pause", #"{"peer":"bob"}"#), line("members.list"), line("sync.status"), line("sync.on"),
      line("sync.off"), line("sync.now"), line("premium.show"),
      line("entitlement.install", #"{"entitlement":"aa"}"#),
      line("entitlement.buy", #"{"until":"2027-01-01"}"#), line("entitlement.cancel"),
      line("onboarding.show"),
      line("onboarding.complete"), line("onboarding.reset", #"{"everywhere":true}"#),
      line("issuer.trust", #"{"issuer":"00"}"#),
      line("cleanup", #"{"preview":true,"yes":true}"#),
      line("nothing.at.all", #"{"a":[1,-2.5e3,null,true,{"b":"é𝄞"}]}"#),
    ]
    let single = lines.map { Array($0.utf8) }
    let runs = stride(from: 0, to: lines.count, by: 6).map { start in
      Array(lines[start..<min(start + 6, lines.count)].joined(separator: "\n").utf8)
    }
    return single + runs
  }

  private static func line(_ command: String, _ arguments: String = "{}") -> String {
    #"{"command":"\#(command)","arguments":\#(arguments)}"#
  }
}
