import Foundation

// The demo shows three devices of one person, which run as three processes on this machine.

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
  // If another thread is already ending the program, that caused this error.
  guard stage.claimEnd() else { while true { pause() } }
  story.failed(error)
  stage.clear()
  exit(1)
}
