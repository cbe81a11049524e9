import Foundation

// A program to watch: three devices of one person, as three processes on this machine.

var story = Story()
let stage: Stage
do {
  stage = try Stage()
} catch {
  story.failed(error)
  exit(1)
}
stage.endsAfter(seconds: 170)
do {
  var play = Play(on: stage)
  try play.perform(&story)
  stage.clear()
  story.end()
} catch {
  // Somebody else is ending the program already: that is what failed here too.
  guard stage.claimEnd() else { while true { pause() } }
  story.failed(error)
  stage.clear()
  exit(1)
}
