import Simulation
import Testing
import VirtualDisk

/// Whole runs of simulated circles, judged after every event. `make simulate` and `make soak` run many more.
@Suite struct RunTests {
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `every guarantee holds, whatever goes wrong`(_ seed: UInt64) {
    let outcome = Run.outcome(of: Options(seed: seed, events: 200))
    #expect(outcome.failure == nil, "simulator --run '\(outcome.options)'")
  }

  /// Runs that once exposed a bug, minimised.
  @Test(arguments: [
    // Sets that arrived while the disk was full were never requested again.
    "seed=145 devices=2 free=0 adversaries=0 events=115 faults-every=334 people-every=271 records=26 files=0 "
      + "purchases=0 withdrawals=0 "
      + "faults=crossed:12,disk-full:8,drift:12,far-jump:20,flap:11,read-error:1,stranger-issuer:6",
    // Two devices that each knew one of two revocations rejected each other forever.
    "seed=5004 devices=2 free=0 adversaries=0 events=737 faults-every=718 people-every=500 records=22 files=0 "
      + "purchases=0 withdrawals=0 "
      + "faults=clog:8,crossed:14,delay:11,drift:12,far-jump:10,freeze:4,invite:13,jump:2,kill:2,kill-inside:1,"
      + "lost-place:13,move:10,one-way:19,partition:2,power-loss:5,preference:16,read-error:7,restamp:14,"
      + "revoke:18,slow-disk:7,write-error:9",
    // An agreement reached while the records lane was closed was judged as if it were already open.
    "seed=1010029 devices=4 free=0 adversaries=2 events=983 faults-every=233 people-every=200 records=45 files=0 "
      + "purchases=0 withdrawals=0 "
      + "faults=beyond-cut:24,branches:48,broken-link:27,closed-lane:30,crash-loop:10,cut:12,deaf:15,delay:13,"
      + "disk-full:19,drift:17,far-jump:16,flap:20,gap:6,garble:30,half-open:13,invite:8,kill:2,kill-inside:1,"
      + "lost-place:18,move:4,mutual:12,narrow:17,one-way:13,other-plan:30,partition:17,poison:33,power-loss:8,"
      + "preference:14,read-error:11,restamp:19,restart:13,restore:20,skew:9,sloppy:42,slow-disk:20,storm:6,"
      + "sync-error:14,unknown-author:6,unknown-dependency:57,write-error:5",
    // A file that was found to be damaged within 0.2 seconds after it had arrived was announced all the same.
    "seed=2110125 devices=2 free=0 adversaries=0 events=300 faults-every=60 people-every=100 records=8 large=10 "
      + "quota=0 files=5 purchases=0 withdrawals=0 "
      + "faults=address:40,alter-leaf:16,cut:1,day-jump:20,full-in-file:20,keep-policy:16",
    // States between a commit of too many branches and the rebuild that their proof causes were judged as false.
    "seed=2120134 devices=4 free=3 adversaries=1 events=87 faults-every=149 people-every=86 records=4 large=10 "
      + "quota=0 files=0 purchases=0 "
      + "faults=address:16,buy:7,clone:4,crossed:11,delay:9,far-jump:19,garble:48,lie:54,many-branches:60,narrow:19,"
      + "other-number:12,other-plan:12,past:27,preference:18,restore:16,skew:17,sloppy:12,trickle:15,truncate:18,"
      + "unknown-dependency:9,withhold:36,write-error:19",
    // A file that lost its last name while it was being made durable was judged as left over.
    "seed=2120144 devices=3 free=0 adversaries=1 events=150 faults-every=980 people-every=36 records=7 large=10 "
      + "quota=0 files=2 purchases=0 "
      + "faults=keep-policy:19",
    // A bit of a file that was altered after its leaf had been verified, and before the file was complete, was judged as
    // a mistake of the node.
    "seed=500 devices=4 free=0 adversaries=1 events=106 faults-every=275 people-every=268 records=57 large=10 "
      + "quota=0 files=11 purchases=0 withdrawals=0 "
      + "faults=alter-leaf:18,branches:3,clone:2,crossed:2,cut:3,day-jump:2,disk-full:5,expire:1,false-leaf:16,"
      + "false-list:32,forced-direction:40,hoard:2,kill:3,kill-in-file:14,kill-inside:4,lying-answer:6,restart:3,"
      + "restore:2,revoke:5,torn:3,trickle:2,withhold-leaf:32",
    // Heads that were sent on a lane that the same batch opened and closed again were judged as sent on a closed lane.
    "seed=2140104 devices=5 free=0 adversaries=2 events=1500 faults-every=670 people-every=1818 records=7 large=10 "
      + "quota=0 files=0 purchases=0 withdrawals=0 "
      + "faults=address:1,clog:18,clone:9,crash-loop:15,deaf:54,delay:17,far-jump:10,flap:14,gap:57,half-open:4,"
      + "kill:15,log-bytes:60,lying-answer:48,many-branches:30,mutual:7,narrow:2,other-number:18,other-plan:42,"
      + "partition:10,pause-peer:7,poison:6,preference:5,restamp:16,restart:18,restore:18,skew:17,slow-disk:5,"
      + "storm:54,stranger-issuer:20,torn:1,trickle:27,truncate:24,unreadable:39,unsolicited:6,withhold:24,"
      + "write-error:15",
  ])
  func `runs that once failed succeed`(_ line: String) throws {
    let options = try #require(Options(line: line))
    #expect(Run.outcome(of: options).failure == nil)
  }

  /// What a run is meant to exercise does occur in it.
  @Test func `members lie and trickle, and users start overrides meanwhile`() throws {
    var tally = Tally()
    for seed in [1_891_021, 1_891_024, 1_891_028] {
      let line =
        "seed=\(seed) devices=4 free=0 adversaries=2 events=900 faults-every=400 people-every=60 records=20 large=10 "
        + "files=0 purchases=0 withdrawals=0 "
        + "faults=forced-direction:40,lying-answer:20,trickle:12,kill-inside:4,disk-full:4"
      let outcome = Run.outcome(of: try #require(Options(line: line)))
      #expect(outcome.failure == nil)
      tally.add(outcome.tally)
    }
    for name in ["lied in heads", "trickled", "overrides begun", "records judged after overrides"] {
      #expect(tally[name] > 0, "\(name)")
    }
  }

  @Test func `members withhold and falsify values, and users erase records meanwhile`() throws {
    var tally = Tally()
    for seed in 20...21 {
      let line =
        "seed=\(seed) devices=3 free=0 adversaries=2 events=900 faults-every=100 people-every=40 records=12 large=10 "
        + "files=0 purchases=0 withdrawals=0 "
        + "faults=withhold:20,other-values:20,unreadable:20,log-bytes:8,other-number:8,sloppy:8,kill:4,restart:4"
      let outcome = Run.outcome(of: try #require(Options(line: line)))
      #expect(outcome.failure == nil)
      tally.add(outcome.tally)
    }
    for name in ["fault withhold", "fault other-values", "fault unreadable", "erases"] {
      #expect(tally[name] > 0, "\(name)")
    }
  }

  @Test func `files are attached, fetched, dropped and freed, and members lie about them`() throws {
    var tally = Tally()
    for seed in 2_100_356...2_100_357 {
      let line =
        "seed=\(seed) devices=3 free=0 adversaries=1 events=600 faults-every=60 people-every=40 records=8 large=0 "
        + "quota=0 files=4 purchases=0 withdrawals=0 "
        + "faults=false-leaf:6,false-list:6,withhold-leaf:6,false-holder:6,keep-policy:6,day-jump:6,"
        + "kill-in-file:4,full-in-file:4,alter-leaf:4,cut:4,restart:3"
      let outcome = Run.outcome(of: try #require(Options(line: line)))
      #expect(outcome.failure == nil, "\(line)")
      tally.add(outcome.tally)
    }
    for name in ["files added", "parts of files sent", "times that files were freed", "files asked for"] {
      #expect(tally[name] > 0, "\(name)")
    }
  }

  @Test func `purchases replace each other on every device, also while members make too many`() throws {
    var tally = Tally()
    for seed in 2_120_000...2_120_001 {
      let line =
        "seed=\(seed) devices=3 free=0 adversaries=1 events=600 faults-every=600 people-every=3000 records=8 large=0 "
        + "quota=0 files=0 purchases=10 withdrawals=0 faults=cut:4,restart:2,kill-inside:2,partition:2"
      let outcome = Run.outcome(of: try #require(Options(line: line)))
      #expect(outcome.failure == nil, "\(line)")
      tally.add(outcome.tally)
    }
    for name in ["purchases", "purchases that replaced others", "purchases that were older"] {
      #expect(tally[name] > 0, "\(name)")
    }
  }

  @Test func `withdrawals count on every device alike, whichever key signs them`() throws {
    var tally = Tally()
    for seed in 2_130_000...2_130_001 {
      let line =
        "seed=\(seed) devices=3 free=0 adversaries=1 events=600 faults-every=600 people-every=600 records=8 large=0 "
        + "quota=0 files=0 purchases=0 withdrawals=300 faults=cut:4,restart:2,kill-inside:2,partition:2"
      let outcome = Run.outcome(of: try #require(Options(line: line)))
      #expect(outcome.failure == nil, "\(line)")
      tally.add(outcome.tally)
    }
    for name in ["withdrawals that counted", "withdrawals without effect", "entitlements given again"] {
      #expect(tally[name] > 0, "\(name)")
    }
  }

  @Test func `the same options give the same run, event by event`() {
    for seed in [3, 15] as [UInt64] {
      let options = Options(seed: seed, events: 200)
      let (first, second) = (Run.outcome(of: options), Run.outcome(of: options))
      #expect(first.events == second.events)
      #expect(first.trace == second.trace, "\(options)")
    }
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `options can be parsed from the line that a run prints`(_ seed: UInt64) {
    let options = Options(seed: seed)
    #expect(Options(line: options.description) == options)
  }

  @Test(arguments: ["", "seed=x", "seed=1 devices=-1", "seed=1 faults=none,kill:1", "seed=1 weather=bad"])
  func `a line without valid options is refused`(_ line: String) {
    #expect(Options(line: line) == nil)
  }

  @Test func `a seed chooses its own faults, and all kinds occur among many seeds`() {
    let chosen = (1...200 as ClosedRange<UInt64>).map { Set(Options(seed: $0).faults.keys) }
    #expect(Set(chosen).count > 150)
    #expect(chosen.reduce([]) { $0.union($1) } == Set(Fault.allCases))
  }
}
